// SPDX-License-Identifier: Apache-2.0
// A folder with programs that stand for those of perftest.
#pragma once

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "perf/suites/perftest/program.h"
#include "tests/support/temp_dir.h"

namespace test {

class Bench {
  public:
    Bench() {
        for (const char* name : {"ib_write_bw",
                                 "ib_write_lat",
                                 "ib_read_bw",
                                 "ib_read_lat",
                                 "ib_send_bw",
                                 "ib_send_lat"})
            std::filesystem::create_symlink(FAKE_PERFTEST, dir_ / name);
    }

    [[nodiscard]] perf::perftest::Folders folders() const { return {"/nonexistent", dir_.path()}; }

    // "client fails", "server hangs"; see fake_perftest.cc.
    void behave(const std::string& how) const { std::ofstream(dir_ / "behaviour") << how; }

    [[nodiscard]] std::string behaviour() const { return read("behaviour"); }

    void remove(const std::string& name) const { std::filesystem::remove(dir_ / name); }

    [[nodiscard]] std::string arguments(const std::string& side) const {
        return read("arguments." + side);
    }

    // Whether the program that ran last on this side is there, as a zombie too.
    [[nodiscard]] bool is_alive(const std::string& side) const {
        const std::string pid = read("pid." + side);
        return !pid.empty() && ::kill(std::stoi(pid), 0) == 0;
    }

    [[nodiscard]] bool was_started(const std::string& side) const {
        return !read("pid." + side).empty();
    }

  private:
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(dir_ / name).rdbuf();
        return text.str();
    }

    TempDir dir_;
};

}  // namespace test
