// SPDX-License-Identifier: Apache-2.0
// Trees of sysfs from their listings: tests/data/sysfs/README.md has the form.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace test {

inline void plant_line(const std::filesystem::path& root, const std::string& line) {
    const size_t space = line.find(' ');
    const std::filesystem::path path = root / line.substr(0, space);
    if (space == std::string::npos) {
        std::filesystem::create_directories(path);
        return;
    }
    std::filesystem::create_directories(path.parent_path());
    const std::string value = line.size() > space + 3 ? line.substr(space + 3) : "";
    if (line.compare(space, 3, " ->") == 0)
        std::filesystem::create_symlink(line.substr(space + 4), path);
    else
        std::ofstream(path) << value << (value.empty() ? "" : "\n");
}

// The listing of this name, below `root`.
inline void plant_listing(const std::filesystem::path& root, const std::string& name) {
    std::ifstream listing(std::filesystem::path(TEST_DATA "/sysfs") / name);
    ASSERT_TRUE(listing) << name;
    for (std::string line; std::getline(listing, line);) {
        if (!line.empty() && line.front() != '#')
            plant_line(root, line);
    }
}

}  // namespace test
