// SPDX-License-Identifier: Apache-2.0
// A folder of a test with files made by hand.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace test {

class Tree : public TempDir {
  public:
    [[nodiscard]] std::string at(const std::string& path) const { return path_of(path); }

    void put(const std::string& path, const std::string& text = "x") const {
        make_parents(path);
        std::ofstream(path_of(path)) << text;
    }

    void put_link(const std::string& path, const std::string& target) const {
        make_parents(path);
        std::filesystem::create_symlink(target, path_of(path));
    }

    void put_folder(const std::string& path) const {
        std::filesystem::create_directories(path_of(path));
    }

    void drop(const std::string& path) const { std::filesystem::remove_all(path_of(path)); }

  private:
    [[nodiscard]] std::string path_of(const std::string& path_below) const {
        return path() + path_below;
    }

    void make_parents(const std::string& path) const {
        std::filesystem::create_directories(std::filesystem::path(path_of(path)).parent_path());
    }
};

}  // namespace test
