// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of this program, each with every seed of its own: what a fuzzer found once, or
// begins with, is tried wherever the tests are, without a fuzzer.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/expect.h"

namespace {
std::map<std::string, fuzz::Target>& all_targets() {
    static std::map<std::string, fuzz::Target> targets;
    return targets;
}

struct Seed {
    std::string target;
    std::filesystem::path path;
};

void PrintTo(const Seed& seed, std::ostream* out) {  // NOLINT: GoogleTest's name
    *out << seed.path;
}

std::vector<Seed> all_seeds() {
    std::vector<Seed> seeds;
    for (const auto& [name, target] : all_targets()) {
        for (const auto& entry :
             std::filesystem::directory_iterator(std::filesystem::path(SEEDS) / name))
            seeds.push_back({name, entry.path()});
    }
    return seeds;
}

std::string name_of_seed(const testing::TestParamInfo<Seed>& info) {
    std::string name = info.param.target + "_" + info.param.path.filename().string();
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

class FuzzSeeds : public testing::TestWithParam<Seed> {};

TEST_P(FuzzSeeds, Holds) {
    std::ifstream file(GetParam().path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(file.fail()) << GetParam().path;
    all_targets().at(GetParam().target)(reinterpret_cast<const uint8_t*>(bytes.data()),
                                        bytes.size());
}

INSTANTIATE_TEST_SUITE_P(All, FuzzSeeds, testing::ValuesIn(all_seeds()), name_of_seed);

TEST(FuzzTargets, EachHasSeeds) {
    EXPECT_FALSE(all_targets().empty());
    for (const auto& [name, target] : all_targets())
        EXPECT_FALSE(std::filesystem::is_empty(std::filesystem::path(SEEDS) / name)) << name;
}
}  // namespace

bool fuzz::add_target(const char* name, Target target) {
    return all_targets().emplace(name, target).second;
}
