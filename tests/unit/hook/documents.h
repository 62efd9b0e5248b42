// SPDX-License-Identifier: Apache-2.0
// The documents of the hook, for tests that compare them with the code.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "netns/base/json.h"
#include "tests/support/regex.h"

namespace test {

inline std::string source_file(const std::string& path) {
    const std::ifstream file(SOURCE_DIR "/" + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline base::Json source_json(const std::string& path) {
    return base::parse_json(source_file(path), path).value();
}

inline std::vector<std::string> members(const base::Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items())
        names.push_back(name);
    return names;
}

// Holds a part of a file, from behind `begin` to `end`, to what the tables of the code print. If
// RDMA_WRITE_DOCUMENTS is set, writes it there.
inline void expect_printed(const std::string& path,
                           const std::string& begin,
                           const std::string& end,
                           const std::string& printed) {
    std::string text = source_file(path);
    const size_t at = text.find(begin);
    ASSERT_NE(at, std::string::npos) << path << " has no line: " << begin;
    const size_t from = at + begin.size();
    const size_t length = text.find(end, from) - from;
    if (text.substr(from, length) == printed)
        return;
    if (std::getenv("RDMA_WRITE_DOCUMENTS") == nullptr) {
        ADD_FAILURE() << path << ": behind " << begin << " must stand:\n"
                      << printed << "\nto write it: cmake --build build/dev --target documents";
        return;
    }
    text.replace(from, length, printed);
    std::ofstream(SOURCE_DIR "/" + path) << text;
}

}  // namespace test
