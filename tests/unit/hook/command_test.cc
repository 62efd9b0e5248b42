// SPDX-License-Identifier: Apache-2.0
#include "hook/command.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "netns/base/ids.h"
#include "tests/unit/hook/life.h"

namespace hook {
namespace {

TEST(Command, KnowsItsPhases) {
    for (const char* phase : {"precreate", "prestart", "createRuntime", "poststop"})
        EXPECT_EQ(parse_command({phase})->stage->name, phase);
    EXPECT_FALSE(parse_command({"poststop"})->stage->may_fail);
    const std::string key = container_key("/b");
    const std::string uuid = base::random_uuid();
    const auto later =
        parse_command({"createRuntime", "--state", "/s", "--container", key, "--attach", uuid});
    ASSERT_TRUE(later);
    EXPECT_EQ(later->state_dir, "/s");
    EXPECT_EQ(later->container, key);
    EXPECT_EQ(later->attach, uuid);
    EXPECT_EQ(parse_command({"precreate", "--config", "/c"})->config_path, "/c");
}

TEST(Command, RefusesWhatItDoesNotKnow) {
    const std::vector<std::vector<std::string>> bad = {{},
                                                       {""},
                                                       {"prestart "},
                                                       {"precreate", "--stat", "x"},
                                                       {"precreate", "--state"},
                                                       {"--state", "/s"}};
    for (const auto& args : bad)
        EXPECT_EQ(parse_command(args).error().code, base::Code::Usage);
}

// They become parts of paths, of which the first is that of the remembered failure.
TEST(Command, RefusesNamesThatAreNoneBeforeAnythingIsDone) {
    const std::string key = container_key("/b");
    const std::string uuid = base::random_uuid();
    const std::vector<std::vector<std::string>> bad = {
        {"--state", "/s", "--container", "../../../etc/x", "--attach", uuid},
        {"--state", "/s", "--container", "../../" + key.substr(6), "--attach", uuid},
        {"--state", "/s", "--container", key, "--attach", uuid + "x"},
        {"--state", "s", "--container", key, "--attach", uuid},
        {"--state", "/s\n", "--container", key, "--attach", uuid}};
    for (std::vector<std::string> args : bad) {
        for (const char* phase : {"createRuntime", "poststop"}) {
            args.insert(args.begin(), phase);
            EXPECT_EQ(parse_command(args).error().code, base::Code::Usage) << args[4];
            args.erase(args.begin());
        }
    }
}

// The engine died as its hook began: the hook has another parent now, which lives for ever.
TEST(Command, TheEngineIsTheParentOfTheBeginning) {
    test::FakeHost fake;
    test::StateDir state;
    netns::Host host = fake.host();
    Call call = call_of(*parse_command({"precreate"}), host);
    call.config = ReadOnce{[&] { return Result<Config>{state.config()}; }};
    call.bundle = "/b";
    fake.world.files.insert("/b");
    fake.world.processes.erase(test::World::kEngine);
    fake.world.parent = 1;
    fake.world.add_process(1, fake.world.host);
    const auto done = precreate(
        R"({"ociVersion":"1.2.0","process":{"args":["true"]},"root":{"path":"rootfs"},
            "linux":{"namespaces":[{"type":"network","path":"/run/netns/container1"}]},
            "annotations":{"rdma.mode":"softroce","rdma.ip":"10.9.0.1/24"}})",
        call);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, base::Code::Unavailable) << done.error().message();
    EXPECT_EQ(state.leftovers(), std::vector<std::string>{});
}

// Later stages of a prepared container have no use for what precreate reads in /proc; a plain hook
// has.
TEST(Command, AStageOfAPreparedContainerDoesNotAskWhoItIs) {
    test::FakeHost fake;
    netns::Host host = fake.host();
    const auto self = [&](std::vector<std::string> args) {
        return call_of(*parse_command(args), host).self;
    };
    const std::vector<std::string> prepared = {"--state",
                                               "/run/s",
                                               "--container",
                                               container_key("/b"),
                                               "--attach",
                                               "4d8a3f0e-3d1b-4a63-9c1e-5f2b7c9d0e11"};
    for (const char* phase : {"precreate", "prestart", "createRuntime", "poststop"}) {
        std::vector<std::string> args{phase};
        EXPECT_NE(self(args), "") << phase;
        args.insert(args.end(), prepared.begin(), prepared.end());
        const bool later = args[0] == "createRuntime" || args[0] == "poststop";
        EXPECT_EQ(self(args).empty(), later) << phase;
    }
}

TEST(Command, TheConfigurationIsReadOnce) {
    test::FakeHost fake;
    test::StateDir state;
    netns::Host host = fake.host();
    int reads = 0;
    const Call call{.host = host,
                    .config = ReadOnce{[&] {
                        ++reads;
                        return Result<Config>{state.config()};
                    }},
                    .bundle = "/b"};
    const auto done = precreate(
        R"({"ociVersion":"1.2.0","linux":{},"annotations":{"rdma.mode":"no such mode"}})", call);
    ASSERT_FALSE(done);
    report(*parse_command({"precreate"}), call, done.error());
    (void)abandon(call);
    (void)log_of(call);
    EXPECT_EQ(reads, 1);
}

// A user's failure is kept in the user's folder, and not in root's.
TEST(Command, ABrokenConfigurationIsAUsersStill) {
    test::FakeHost fake;
    test::StateDir state;
    netns::Host host = fake.host();
    const Call call{.host = host,
                    .config = ReadOnce{[]() -> Result<Config> {
                                           return base::make_error(Code::BadConfig, "broken");
                                       },
                                       [&] {
                                           Config config = as_users({}, 1000);
                                           config.state_dir = state.path();
                                           return config;
                                       }},
                    .bundle = "/b"};
    EXPECT_TRUE(call.config.get_or_default().rootless);
    const auto done =
        precreate(R"({"ociVersion":"1.2.0","linux":{},"annotations":{"rdma.mode":"host"}})", call);
    ASSERT_FALSE(done);
    remember_failure(call, "precreate", done.error());
    EXPECT_TRUE(host.files.read(state.path() + "/errors/" + container_key("/b") + ".json", 4096));
}

// The journals have all decisions.
TEST(Command, TheLaterStagesReadNoConfiguration) {
    test::FakeHost fake;
    test::StateDir state;
    test::Life life{fake, state, "one"};
    life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
    ASSERT_TRUE(life.start());
    ASSERT_TRUE(life.poststop());
    EXPECT_EQ(life.config_reads, 1);
}

TEST(Command, APlainHookMayAskForTheContainer) {
    const auto command = parse_command({"createRuntime",
                                        "--annotation",
                                        "rdma.mode=vf",
                                        "--annotation",
                                        "rdma.device=enp1s0#1=2"});
    ASSERT_TRUE(command);
    EXPECT_EQ(command->annotations,
              (Annotations{{"rdma.mode", "vf"}, {"rdma.device", "enp1s0#1=2"}}));
    const std::vector<std::vector<std::string>> bad = {
        {"precreate", "--annotation", "rdma.mode=vf"},
        {"poststop", "--annotation", "rdma.mode=vf"},
        {"prestart", "--annotation"},
        {"prestart", "--annotation", "rdma.mode"},
        {"prestart", "--annotation", "run.oci.hooks.stdout=/etc/passwd"},
        {"prestart", "--annotation", "rdma.mode=vf", "--annotation", "rdma.mode=vf"},
        {"createRuntime", "--container", container_key("/b"), "--annotation", "rdma.mode=vf"}};
    for (const auto& args : bad)
        EXPECT_EQ(parse_command(args).error().code, base::Code::Usage);
}

// The program whose path goes into config.json must be there when the runtime calls it.
TEST(Command, AnUpgradeMeanwhileIsNotInOurPath) {
    EXPECT_EQ(without_deleted("/usr/bin/rdma-hook (deleted)"), "/usr/bin/rdma-hook");
    EXPECT_EQ(without_deleted("/usr/bin/rdma-hook"), "/usr/bin/rdma-hook");
}

TEST(Command, AnExceptionIsABugAndNoCrash) {
    const auto outcome = guarded([]() -> Result<> { throw std::runtime_error("odd\n"); });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, base::Code::Internal);
    EXPECT_EQ(outcome.error().text, "bug: odd\\x0a");
    EXPECT_FALSE(
        guarded([]() -> Result<> { throw 1; }));  // NOLINT(misc-throw-by-value-catch-by-reference)
    EXPECT_TRUE(guarded([]() -> Result<> { return {}; }));
}

}  // namespace
}  // namespace hook
