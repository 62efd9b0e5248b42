// SPDX-License-Identifier: Apache-2.0
// rdma-runtime over a fake host, with a low-level runtime that does what a test says. The bundle is
// a real folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/state/store.h"
#include "runtime-config/rdma-runtime/shim.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/temp_dir.h"

namespace shim {
using base::Code;
using base::Json;
using base::make_error;
using base::Result;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

inline constexpr pid_t kInit = 6000;

class ScriptedLowLevel : public LowLevel {
  public:
    std::vector<std::string> calls;  // "become /usr/bin/runc", "run ..."
    std::function<Result<int>(const Words&)> script = [](const Words&) { return 0; };

    base::Error become(const std::string& path, const Words& argv) override {
        calls.push_back("become " + path);
        words = argv;
        return make_error(Code::Internal, "became it");
    }

    Result<int> run(const std::string& path, const Words& argv) override {
        calls.push_back("run " + path);
        words = argv;
        return script(argv);
    }

    Words words;
};

inline std::string slurp(const std::string& path) {
    const auto text = base::RealFiles{}.read(path, 1U << 24U);
    return text ? *text : text.error().message();
}

class Shim : public testing::Test {
  protected:
    Shim() {
        config_.state_dir = dir_ / "state";
        std::filesystem::create_directory(bundle_);
        fake_.world.files.insert(bundle_);
    }

    // A config.json as Docker's, with these annotations.
    void write_spec(const Json& annotations) {
        Json spec = *base::parse_json(slurp(TEST_DATA "/oci/docker.json"), "docker.json");
        spec["annotations"] = annotations;
        spec["x-unknown"] = Json{{"z", 18446744073709551615U}, {"a", -9223372036854775807}};
        write_text(spec.dump(2));
    }

    void write_text(const std::string& text) {
        ASSERT_TRUE(base::RealFiles{}.write(spec_path(), text));
        ASSERT_EQ(::chmod(spec_path().c_str(), 0640), 0);
        before_ = text;
    }

    [[nodiscard]] std::string spec_path() const { return bundle_ + "/config.json"; }

    [[nodiscard]] Json spec() const { return *base::parse_json(slurp(spec_path()), "spec"); }

    // The call as by a runtime's name that has a program of its own, if the test names one.
    [[nodiscard]] Words by_name(Words argv) const {
        if (named_)
            argv.insert(argv.begin() + 1, "--low-level=" + *named_);
        return argv;
    }

    int serve_words(const Words& words) {
        Words argv = {"rdma-runtime", "--log", dir_ / "log.json", "--log-format", "json"};
        argv.insert(argv.end(), words.begin(), words.end());
        const int status = serve(by_name(argv), around());
        fake_.settle();
        return status;
    }

    int create(const std::string& id = "c1") {
        return serve_words({"create", "--bundle", bundle_, "--pid-file", "/p", id});
    }

    Surroundings around() {
        return {.host = host_,
                .config = hook::ReadOnce{[this]() -> Result<hook::Config> {
                    ++config_reads_;
                    if (broken_)
                        return make_error(Code::BadConfig, "config.json is broken");
                    return config_;
                }},
                .runtime_setting = [this]() -> Result<std::string> {
                    ++config_reads_;
                    if (broken_)
                        return make_error(Code::BadConfig, "config.json is broken");
                    return config_.runtime;
                },
                .root = root_,
                .low_level = low_level_,
                .apart = [this](const auto& work) { return until_death(work); },
                .runtimes = runtimes_};
    }

    // Our work, in which a Crash is the death of the whole program: nothing more is done.
    Result<> until_death(const std::function<Result<>()>& work) {
        if (died_)
            return make_error(Code::Internal, "dead");
        try {
            return work();
        } catch (const test::Crash& crash) {
            died_ = true;
            return make_error(Code::Internal, "died after " + crash.what);
        }
    }

    // The runtime's work in the middle of a create: an init in the namespace of config.json, and
    // the hook.
    Result<int> be_created(const std::string& id) {
        const Json config = spec();
        for (const Json& entry : config["linux"]["namespaces"]) {
            const auto pin = fake_.world.pins.find(entry.value("path", ""));
            if (entry["type"] == "network" && pin != fake_.world.pins.end())
                fake_.world.add_process(kInit, pin->second);
        }
        TRY(hook::create_runtime(state_json(id, kInit), later_call("createRuntime")));
        return 0;
    }

    Result<> run_poststop(const std::string& id) {
        return hook::poststop(state_json(id, 0), later_call("poststop"));
    }

    [[nodiscard]] std::string state_json(const std::string& id, pid_t pid) const {
        return Json{{"ociVersion", "1.2.0"}, {"id", id}, {"bundle", bundle_}, {"pid", pid}}.dump();
    }

    hook::Call later_call(const char* stage) {
        const auto args = spec()["hooks"][stage][0]["args"].get<Words>();
        return {.host = host_,
                .config = hook::ReadOnce{[this] { return Result<hook::Config>{config_}; }},
                .state_dir = args.at(3),
                .container = args.at(5),
                .attach = args.at(7)};
    }

    // A container that runs.
    void start() {
        write_spec({{"rdma.mode", "softroce"}});
        low_level_.script = [&](const Words&) { return be_created("c1"); };
        ASSERT_EQ(create(), 0);
        ASSERT_EQ(fake_.world.rdma.size(), 1U);
    }

    // The engine's message of the last failure.
    [[nodiscard]] std::string told() const {
        std::string text = slurp(dir_ / "log.json");
        text = text.substr(text.rfind('\n', text.size() - 2) + 1);
        const auto json = base::parse_json(text, "entry");
        return json && json->value("level", "") == "error" ? json->value("msg", "") : text;
    }

    void expect_untouched() {
        EXPECT_EQ(slurp(spec_path()), before_);
        EXPECT_EQ(fake_.world, world_) << test::difference(world_, fake_.world);
        EXPECT_FALSE(std::filesystem::exists(dir_ / "log.json"));
    }

    void expect_nothing_left() {
        EXPECT_THAT(fake_.world.pins, IsEmpty());
        EXPECT_THAT(fake_.world.rdma, IsEmpty());
        const hook::Store store{files_, config_.state_dir};
        EXPECT_THAT(*store.container_keys(), IsEmpty());
        EXPECT_THAT(*store.journal_keys(), IsEmpty());
        EXPECT_THAT(*files_.list(bundle_), ElementsAre("config.json"));
    }

    test::TempDir dir_;
    std::string runtimes_ = dir_ / "run/runtimes";
    std::string bundle_ = std::filesystem::canonical(dir_.path()).string() + "/bundle";
    hook::Config config_;
    std::optional<std::string> named_;
    bool root_ = true;
    bool broken_ = false;
    int config_reads_ = 0;
    bool died_ = false;
    test::FakeHost fake_{test::World::standard()};
    netns::Host host_ = fake_.host();
    test::World world_ = [this] {
        test::World world = fake_.world;
        world.files.insert(bundle_);
        return world;
    }();
    base::RealFiles files_;
    ScriptedLowLevel low_level_;
    std::string before_;
};

}  // namespace shim
