// SPDX-License-Identifier: Apache-2.0
// The GID table of a sysfs made by hand, in the layout of a kernel's.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "netns/kernel/gid_table.h"
#include "tests/support/temp_dir.h"

namespace netns {
namespace {

constexpr char kZero[] = "0000:0000:0000:0000:0000:0000:0000:0000";
constexpr char kLocal[] = "fe80:0000:0000:0000:0000:5eff:fe10:0001";
constexpr char kOurs[] = "0000:0000:0000:0000:0000:ffff:0a09:0001";

class GidTable : public testing::Test {
  protected:
    void SetUp() override {
        put(0, kLocal, "RoCE v2", "mv0");
        put(1, kZero, "", "");
        put(2, kOurs, "IB/RoCE v1", "mv0");
        put(3, kOurs, "RoCE v2", "mv0");
        put(4, kOurs, "RoCE v2", "mv1");
    }

    void put(int slot, const std::string& gid, const std::string& type, const std::string& netdev) {
        write("gids/" + std::to_string(slot), gid);
        if (!type.empty())
            write("gid_attrs/types/" + std::to_string(slot), type);
        if (!netdev.empty())
            write("gid_attrs/ndevs/" + std::to_string(slot), netdev);
    }

    void write(const std::string& path, const std::string& text) {
        const std::filesystem::path file = root_ / ("class/infiniband/rxe7/ports/1/" + path);
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << "\n";
    }

    Result<std::optional<GidEntry>> find(const std::string& device,
                                         const char* gid,
                                         const std::string& netdev = {}) {
        return find_gid_in(TRY(SysTree::at(root_.path())), device, {*parse_gid(gid), netdev});
    }

    test::TempDir root_;
};

TEST_F(GidTable, TheFirstOfTypeRoceV2IsFound) {
    const auto found = find("rxe7", kOurs);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->index, 3U);
    EXPECT_EQ((*found)->netdev, "mv0");
    EXPECT_EQ(find("rxe7", kLocal).value()->index, 0U);
    EXPECT_EQ(find("rxe7", kOurs, "mv1").value()->index, 4U) << "somebody else has it, too";
    EXPECT_FALSE(find("rxe7", kOurs, "mv2").value());
}

// The kernel fills the first free slot: the newest entry follows the used ones, or is in a hole.
TEST_F(GidTable, AnEntryIsFoundWhereverItIsInATableOfMany) {
    const int size = 40;
    for (const int ours : {5, 7, 8, 30, 31, 39}) {
        for (const int used : {6, 9, 31, 32, 39}) {
            for (int slot = 5; slot < size; ++slot)
                put(slot, slot < used ? kLocal : kZero, slot < used ? "RoCE v2" : "", "");
            put(ours, kOurs, "RoCE v2", "mv7");
            const auto found = find("rxe7", kOurs, "mv7");
            ASSERT_TRUE(found && *found) << ours << " of " << used;
            EXPECT_EQ((*found)->index, static_cast<uint32_t>(ours));
            put(ours, kZero, "", "");
        }
    }
}

// Of the neighbours' entries only a few are read: 300 are there, and these would be wrong.
TEST_F(GidTable, TheNewestEntryIsFoundWithoutTheOldOnes) {
    for (int slot = 5; slot < 300; ++slot)
        put(slot, slot < 200 ? kLocal : kZero, "RoCE v2", "mv9");
    put(199, kOurs, "RoCE v2", "mv7");
    put(60, kOurs, "RoCE v2", "mv7");
    EXPECT_EQ(find("rxe7", kOurs, "mv7").value()->index, 199U);
}

TEST_F(GidTable, WhatIsNotThereIsNothing) {
    EXPECT_FALSE(find("rxe7", "fe80:0000:0000:0000:0000:0000:0000:0002").value());
}

TEST_F(GidTable, UnreadableSlotsAreSkipped) {
    write("gids/1", "not a gid");
    write("gids/2", "");
    EXPECT_EQ(find("rxe7", kOurs).value()->index, 3U);
}

TEST_F(GidTable, FreeSlotsAreCountedFromTheEnd) {
    const auto space = [&](uint32_t enough) {
        return gid_space_in(SysTree::at(root_.path()).value(), "rxe7", enough).value();
    };
    EXPECT_EQ(space(9).size, 5U);
    EXPECT_EQ(space(9).free, 1U);
    EXPECT_EQ(space(9).per_address, 1U);
    for (int slot = 5; slot < 300; ++slot)
        put(slot, kZero, "", "");
    write("gids/254", "");  // some drivers have no text for an empty slot
    EXPECT_EQ(space(4).size, 256U) << "no address handle can name those behind";
    EXPECT_EQ(space(4).free, 4U);
    EXPECT_EQ(space(1000).free, 252U);
    write("gid_attrs/types/0", "IB/RoCE v1");
    EXPECT_EQ(space(1).per_address, 2U);
    EXPECT_EQ(space(0).size, 0U) << "nothing is counted";
    const auto missing = gid_space_in(SysTree::at(root_.path()).value(), "rxe8", 1);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, base::Code::Unavailable);
}

TEST_F(GidTable, ATableWithoutSlotsHasNoRoce) {
    std::filesystem::remove_all(root_ / "class/infiniband/rxe7/ports/1/gids");
    std::filesystem::create_directories(root_ / "class/infiniband/rxe7/ports/1/gids");
    const auto none = find("rxe7", kOurs);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, base::Code::Unsupported);
    EXPECT_NE(none.error().message().find("RoCE is switched off"), std::string::npos);
    for (const uint32_t enough : {0U, 1U}) {
        const auto space = gid_space_in(SysTree::at(root_.path()).value(), "rxe7", enough);
        ASSERT_FALSE(space) << enough;
        EXPECT_EQ(space.error().code, base::Code::Unsupported) << enough;
    }
}

TEST_F(GidTable, AMissingDeviceIsUnavailable) {
    for (const char* name : {"rxe8", "", "../infiniband/rxe7", "rxe7/ports/1/../.."}) {
        const auto missing = find(name, kOurs);
        ASSERT_FALSE(missing) << name;
        EXPECT_EQ(missing.error().code, base::Code::Unavailable);
        EXPECT_EQ(missing.error().sys, ENOENT);
    }
}

}  // namespace
}  // namespace netns
