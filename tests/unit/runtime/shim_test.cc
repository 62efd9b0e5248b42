// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "hook/container/in_config.h"
#include "tests/unit/runtime/shim_fixture.h"

namespace shim {
namespace {
// ---- what is none of our business ---------------------------------------------------------------

TEST_F(Shim, WithoutAnnotationsItBecomesTheRuntime) {
    for (const Json& annotations :
         {Json::object(), Json{{"a.b", "rdma.mode"}}, Json{{"rdma.x/y", "1"}}, Json(nullptr)}) {
        write_spec(annotations);
        low_level_.calls.clear();
        EXPECT_NE(create(), 0);  // the fake comes back
        EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
        EXPECT_EQ(low_level_.words.front(), "rdma-runtime");
        EXPECT_EQ(low_level_.words.back(), "c1");
        EXPECT_EQ(low_level_.words.size(), 11U);
        expect_untouched();
    }
}

TEST_F(Shim, WithoutAnnotationsNothingOfOursMatters) {
    broken_ = true;
    config_.runtime = "/nonexistent/runc";
    config_.state_dir = "/proc/no/such/folder";
    write_spec({});
    for (const Words& words : {Words{"create", "--bundle", bundle_, "c1"},
                               Words{"create", "--bundle", dir_ / "gone", "c1"},
                               Words{"create", "--new-option", "--bundle", bundle_, "c1"},
                               Words{"run", "c1"},
                               Words{"delete", "--force", "c1"},
                               Words{"features"},
                               Words{}}) {
        low_level_.calls.clear();
        (void)serve_words(words);
        EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
        expect_untouched();
    }
}

TEST_F(Shim, WhatIsNoConfigJsonIsTheRuntimes) {
    for (const char* text : {"", "{", "[]", "{\"annotations\": 7}", "\\u0072", "rdma.mode"}) {
        write_text(text);
        low_level_.calls.clear();
        (void)create();
        EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime())) << text;
        expect_untouched();
    }
}

TEST_F(Shim, TheOtherVerbsDoNotLookAtAnything) {
    write_spec({{"rdma.mode", "softroce"}});
    for (const char* verb : {"state", "start", "kill", "exec", "features", "checkpoint"}) {
        low_level_.calls.clear();
        (void)serve_words({verb, "--bundle", bundle_, "c1"});
        EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
        expect_untouched();
    }
}

// ---- create -------------------------------------------------------------------------------------

TEST_F(Shim, CreateAttaches) {
    start();
    EXPECT_THAT(low_level_.calls, ElementsAre("run " + *find_runtime("")));
    const hook::Store store{files_, config_.state_dir};
    const auto keys = *store.container_keys();
    ASSERT_EQ(keys.size(), 1U);
    const auto container = **store.load_container(keys[0]);
    EXPECT_EQ(container.id, "c1");
    EXPECT_EQ(container.bundle, bundle_);
    EXPECT_TRUE(container.committed);
    EXPECT_EQ(container.token.pid, kInit);
    const Json hook = spec()["hooks"]["createRuntime"][0];
    EXPECT_EQ(hook["path"], "/usr/bin/rdma-hook");
    EXPECT_TRUE(hook["env"].is_array());
    EXPECT_EQ(spec()["hooks"]["prestart"].size(), 1U) << "Docker's own stays";
}

TEST_F(Shim, TheConfigurationIsReadOnceACall) {
    start();
    EXPECT_EQ(config_reads_, 1);
    low_level_.script = [](const Words&) { return 3; };
    fake_.world.processes.erase(kInit);
    EXPECT_EQ(create("c2"), 3);  // and what precreate did is undone
    EXPECT_EQ(config_reads_, 2);
    (void)serve_words({"delete", "c1"});
    EXPECT_EQ(config_reads_, 3);
    write_spec({});
    (void)create("c3");
    EXPECT_EQ(config_reads_, 4) << "of a container of no concern its member `runtime` alone";
}

TEST_F(Shim, BeforeTheCommitWeAreTheLife) {
    write_spec({{"rdma.mode", "softroce"}});
    low_level_.script = [&](const Words&) {
        const hook::Store store{files_, config_.state_dir};
        const auto container = **store.load_container((*store.pending_keys()).at(0));
        EXPECT_EQ(container.token.pid, fake_.world.self);
        EXPECT_EQ(container.id, "c1");
        return be_created("c1");
    };
    EXPECT_EQ(create(), 0);
}

TEST_F(Shim, ConfigJsonKeepsWhatWeDoNotKnow) {
    start();
    const Json after = spec();
    EXPECT_EQ(after["x-unknown"].dump(), R"({"z":18446744073709551615,"a":-9223372036854775807})");
    const Json was = *base::parse_json(before_, "before");
    Words keys, keys_before;
    for (const auto& [key, value] : after.items())
        keys.push_back(key);
    for (const auto& [key, value] : was.items())
        keys_before.push_back(key);
    EXPECT_EQ(keys, keys_before) << "in its order";

    struct stat st {};

    ASSERT_EQ(::stat(spec_path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0640U);
    EXPECT_THAT(*files_.list(bundle_), ElementsAre("config.json")) << "no temporary file";
}

TEST_F(Shim, ANamespaceIsMadeAndNamed) {
    start();
    std::string path;
    const Json config = spec();
    for (const Json& entry : config["linux"]["namespaces"]) {
        if (entry["type"] == "network")
            path = entry.value("path", "");
    }
    EXPECT_EQ(fake_.world.pins.count(path), 1U) << path;
}

TEST_F(Shim, AFailingCreateUndoes) {
    write_spec({{"rdma.mode", "softroce"}});
    low_level_.script = [](const Words&) { return 3; };
    EXPECT_EQ(create(), 3);
    expect_nothing_left();
    EXPECT_FALSE(std::filesystem::exists(dir_ / "log.json")) << "the runtime itself said why";
}

TEST_F(Shim, AFailureAfterTheCommitUndoesToo) {
    write_spec({{"rdma.mode", "softroce"}});
    low_level_.script = [&](const Words&) -> Result<int> {
        EXPECT_TRUE(be_created("c1"));
        fake_.world.processes.erase(kInit);  // and no poststop: crun
        return 1;
    };
    EXPECT_EQ(create(), 1);
    expect_nothing_left();
}

TEST_F(Shim, ARunThatEndedByItselfIsLeftToItsHook) {
    write_spec({{"rdma.mode", "softroce"}});
    low_level_.script = [&](const Words&) -> Result<int> {
        EXPECT_TRUE(be_created("c1"));
        fake_.world.processes.erase(kInit);
        EXPECT_TRUE(run_poststop("c1"));
        return 42;  // the container's
    };
    EXPECT_EQ(serve_words({"run", "--bundle", bundle_, "c1"}), 42);
    expect_nothing_left();
}

TEST_F(Shim, ARuntimeThatIsNotThereUndoes) {
    write_spec({{"rdma.mode", "softroce"}});
    low_level_.script = [](const Words&) -> Result<int> {
        return base::sys_error(ENOENT, "run /usr/bin/runc");
    };
    EXPECT_NE(create(), 0);
    EXPECT_THAT(told(), HasSubstr("rdma-runtime: create: run /usr/bin/runc"));
    expect_nothing_left();
}

TEST_F(Shim, ASecondHalfOnePassesThrough) {
    start();
    const std::string edited = slurp(spec_path());
    fake_.world.processes.erase(kInit);
    low_level_.script = [](const Words&) { return 0; };
    EXPECT_EQ(create(), 0);
    EXPECT_EQ(slurp(spec_path()), edited);
}

// ---- create: refused ----------------------------------------------------------------------------

TEST_F(Shim, RefusalsAreTold) {
    const struct {
        Json annotations;
        const char* text;
    } rows[] = {
        {{{"rdma.mod", "softroce"}}, "did you mean rdma.mode"},
        {{{"rdma.mode", "softroce"}, {"rdma.ip", "x"}}, "rdma.ip"},
        {{{"rdma.mode", "softroce"}, {"rdma.parent", "eth9"}}, "eth9"},
        {{{"rdma.mode", "softroce"}, {hook::kMarker, "x"}}, "rdma-hook's own"},
        {{{"rdma.mode", "softroce"}, {"rdma.parent", "container"}}, "container"},
    };

    for (const auto& row : rows) {
        write_spec(row.annotations);
        EXPECT_NE(create(), 0) << row.text;
        EXPECT_THAT(told(), HasSubstr(row.text));
        EXPECT_THAT(told(), testing::StartsWith("rdma-runtime: create: "));
        EXPECT_EQ(slurp(spec_path()), before_);
        EXPECT_THAT(low_level_.calls, IsEmpty()) << row.text;
        EXPECT_EQ(fake_.world, world_) << test::difference(world_, fake_.world);
    }
}

TEST_F(Shim, ABrokenConfigurationRefusesRdma) {
    write_spec({{"rdma.mode", "softroce"}});
    broken_ = true;
    EXPECT_EQ(create(), base::exit_status(Code::BadConfig));
    EXPECT_THAT(told(), HasSubstr("config.json is broken"));
    EXPECT_THAT(low_level_.calls, IsEmpty());
}

TEST_F(Shim, ARuntimeOfOthersRefusesRdma) {
    write_spec({{"rdma.mode", "softroce"}});
    config_.runtime = "/nonexistent/runc";
    EXPECT_NE(create(), 0);
    EXPECT_THAT(told(), HasSubstr("/nonexistent/runc"));
    EXPECT_THAT(low_level_.calls, IsEmpty());
}

TEST_F(Shim, ACommandLineThatWeDoNotKnowRefusesRdma) {
    write_spec({{"rdma.mode", "softroce"}});
    for (const Words& words : {Words{"create", "--new-option", "--bundle", bundle_, "c1"},
                               Words{"--new", "x", "create", "--bundle", bundle_, "c1"},
                               Words{"create", "--bundle", bundle_},
                               Words{"create", "--bundle", bundle_, "../c1"},
                               Words{"create", "--bundle", bundle_, "-f", "config.json", "c1"}}) {
        EXPECT_NE(serve_words(words), 0);
        EXPECT_THAT(low_level_.calls, IsEmpty());
        EXPECT_EQ(slurp(spec_path()), before_);
    }
}

TEST_F(Shim, ABundleOfOthersRefusesRdma) {
    write_spec({{"rdma.mode", "softroce"}});
    ASSERT_EQ(::chmod(spec_path().c_str(), 0666), 0);
    EXPECT_NE(create(), 0);
    EXPECT_THAT(told(), HasSubstr("can be written by others"));
    ASSERT_EQ(::chmod(spec_path().c_str(), 0600), 0);
    ASSERT_EQ(::chmod(bundle_.c_str(), 0777), 0);
    EXPECT_NE(create(), 0);
    EXPECT_THAT(low_level_.calls, IsEmpty());
}

TEST_F(Shim, WhatLooksLikeRdmaAndCannotBeReadIsRefused) {
    write_text("{\"annotations\": {\"rdma.mode\": \"softroce\"");
    EXPECT_NE(create(), 0);
    EXPECT_THAT(low_level_.calls, IsEmpty());
    write_text("{\"annotations\": {\"\\u0072dma.mode\": \"nonsense\"}}");
    EXPECT_NE(create(), 0);
    EXPECT_THAT(low_level_.calls, IsEmpty());
}

// ---- delete -------------------------------------------------------------------------------------

TEST_F(Shim, DeleteUndoesWhatNoHookDid) {
    start();
    low_level_.script = [&](const Words&) {
        fake_.world.processes.erase(kInit);
        return 0;
    };
    EXPECT_EQ(serve_words({"delete", "--force", "c1"}), 0);
    EXPECT_EQ(low_level_.words.back(), "c1");
    expect_nothing_left();
}

// An engine deletes what could not be created. That our process is gone is enough: whoever called
// it may live for long.
TEST_F(Shim, DeleteUndoesACreateThatWasKilledAnywhere) {
    start();  // makes the folders of the state
    fake_.world.processes.erase(kInit);
    low_level_.script = [](const Words&) { return 0; };
    ASSERT_EQ(serve_words({"delete", "--force", "c1"}), 0);
    expect_nothing_left();
    int deaths = 0;
    for (int call = 0;; ++call) {
        write_spec({{"rdma.mode", "softroce"}});
        low_level_.script = [](const Words&) { return 1; };
        fake_.gate.crash_after(call);
        died_ = false;
        EXPECT_NE(create(), 0);
        if (!std::exchange(died_, false))
            break;
        ++deaths;
        fake_.world.processes.erase(fake_.world.self);
        fake_.world.self += 10000;
        fake_.world.add_process(fake_.world.self, fake_.world.host);
        low_level_.script = [](const Words&) { return 0; };
        (void)serve_words({"delete", "--force", "c1"});
        expect_nothing_left();
        ASSERT_FALSE(HasFailure()) << "killed at call " << call;
    }
    EXPECT_GT(deaths, 10);
}

TEST_F(Shim, DeleteAfterTheHookHasNothingToDo) {
    start();
    low_level_.script = [&](const Words&) -> Result<int> {
        fake_.world.processes.erase(kInit);
        EXPECT_TRUE(run_poststop("c1"));
        return 0;
    };
    EXPECT_EQ(serve_words({"delete", "c1"}), 0);
    expect_nothing_left();
}

TEST_F(Shim, DeleteOfALivingOneTakesNothing) {
    start();
    low_level_.script = [](const Words&) { return 1; };  // "container is not stopped"
    EXPECT_EQ(serve_words({"delete", "c1"}), 1);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(fake_.world.pins.size(), 1U);
}

TEST_F(Shim, DeleteWorksWithoutConfiguration) {
    start();
    broken_ = true;
    low_level_.calls.clear();
    low_level_.script = [](const Words&) { return 0; };
    // Its state is in another folder than the default: the low-level runtime's call it is.
    (void)serve_words({"delete", "c1"});
    EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
}

TEST_F(Shim, DeleteOfAnotherIsNoneOfOurs) {
    start();
    low_level_.calls.clear();
    (void)serve_words({"delete", "--force", "c2"});
    EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
}

// ---- a user's engine ----------------------------------------------------------------------------

TEST_F(Shim, AUsersEngineGetsOneSentence) {
    root_ = false;
    write_spec({{"rdma.mode", "host"}, {"rdma.device", "all"}});
    EXPECT_EQ(create(), base::exit_status(Code::Refused));
    EXPECT_THAT(slurp(dir_ / "log.json"), HasSubstr("rdma-hook.org/hca=NAME"));
    EXPECT_THAT(low_level_.calls, IsEmpty());
    EXPECT_EQ(slurp(spec_path()), before_);
}

// ---- checkpoint and restore ---------------------------------------------------------------------

TEST_F(Shim, ACheckpointIsRefused) {
    start();
    low_level_.calls.clear();
    EXPECT_EQ(serve_words({"checkpoint", "--image-path", "/i", "c1"}),
              base::exit_status(Code::Refused));
    EXPECT_THAT(slurp(dir_ / "log.json"), HasSubstr("cannot be checkpointed"));
    EXPECT_THAT(low_level_.calls, IsEmpty());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    (void)serve_words({"checkpoint", "--image-path", "/i", "c2"});
    EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
}

TEST_F(Shim, ARestoreIsRefused) {
    write_spec({{"rdma.mode", "softroce"}});
    EXPECT_EQ(serve_words({"restore", "--image-path", "/i", "--bundle", bundle_, "c1"}),
              base::exit_status(Code::Refused));
    EXPECT_THAT(slurp(dir_ / "log.json"), HasSubstr("cannot be restored"));
    EXPECT_THAT(low_level_.calls, IsEmpty());
    EXPECT_TRUE(fake_.world.rdma.empty());
    EXPECT_EQ(slurp(spec_path()), before_);
    write_spec({});
    (void)serve_words({"restore", "--image-path", "/i", "--bundle", bundle_, "c1"});
    EXPECT_THAT(low_level_.calls, ElementsAre("become " + default_runtime()));
}
}  // namespace
}  // namespace shim
