// SPDX-License-Identifier: Apache-2.0
// A folder that stands for "/", with engines' configurations, and rdmactl runtime configure over
// it.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/temp_dir.h"

namespace test {

class EngineFolder : public testing::Test {
  protected:
    EngineFolder() {
        ::umask(022);
        options_.engine_files = {.root = dir_.path(), .owner = ::geteuid()};
    }

    void put(const std::string& path, const std::string& text) {
        const std::string place = dir_.path() + path;
        std::filesystem::create_directories(std::filesystem::path(place).parent_path());
        std::ofstream(place) << text;
    }

    std::string get(const std::string& path) {
        std::ifstream in(dir_.path() + path);
        std::stringstream text;
        text << in.rdbuf();
        return in ? text.str() : "(no file)";
    }

    void put_program(const std::string& path) {
        put(path, "#!");
        ASSERT_EQ(::chmod((dir_.path() + path).c_str(), 0755), 0);
    }

    // As engines of Kubernetes want one.
    void put_policy() { put(hook::kConfigPath, R"({"policy":{"modes":["softroce"]}})"); }

    base::Result<hook::ctl::Answer> configure(const std::string& engine, bool unset = false) {
        options_.engine = engine;
        options_.unset = unset;
        netns::Host host = fake_.host();
        return hook::ctl::runtime_configure(options_, host);
    }

    // Expects success, and that the second call changes nothing.
    hook::ctl::Answer twice(const std::string& engine, bool unset = false) {
        const auto first = configure(engine, unset);
        EXPECT_TRUE(first) << first.error().message();
        if (!first)
            return {};
        const auto second = configure(engine, unset);
        EXPECT_TRUE(second) << second.error().message();
        EXPECT_TRUE(second && second->json["changed"] == false) << second->text;
        return *first;
    }

    // Expects a refusal in these words, and an unchanged file.
    void expect_refused(const std::string& engine,
                        const std::string& path,
                        const std::string& says,
                        bool unset = false) {
        const std::string before = get(path);
        const auto answer = configure(engine, unset);
        ASSERT_FALSE(answer) << answer->text;
        EXPECT_NE(answer.error().message().find(says), std::string::npos)
            << answer.error().message();
        EXPECT_EQ(get(path), before);
    }

    FakeHost fake_;
    TempDir dir_;
    hook::ctl::Options options_;
};

}  // namespace test
