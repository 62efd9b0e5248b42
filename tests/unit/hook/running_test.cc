// SPDX-License-Identifier: Apache-2.0
// rdmactl attach and detach: what a container that runs is given, who is refused, and what happens
// when something else does at the same time.
#include "hook/rdmactl/running.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/hook/life.h"

namespace test {
namespace {

using testing::HasSubstr;
using Verb = Result<hook::ctl::Answer> (*)(const hook::ctl::Options&, netns::Host&);

class Running : public testing::Test {
  protected:
    Running() {
        life_.running = true;
        life_.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
    }

    FakeProcess& process() { return fake_.world.processes.at(World::kContainer); }

    void start() {
        const auto done = life_.start();
        ASSERT_TRUE(done) << done.error().message();
    }

    Result<hook::ctl::Answer> ask(Verb verb) {
        hook::ctl::Options options = options_for(state_, life_.id());
        for (const auto& [key, value] : life_.annotations)
            options.annotations.push_back(key + "=" + value);
        netns::Host host = fake_.host();
        return verb(options, host);
    }

    // What the verb is refused with; nothing may have changed.
    Error refusal(Verb verb) {
        const World before = fake_.world;
        const auto left = state_.leftovers();
        const auto answer = ask(verb);
        EXPECT_FALSE(answer);
        EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
        EXPECT_EQ(state_.leftovers(), left);
        return answer ? Error{} : answer.error();
    }

    void expect_refusal(Verb verb, Code code, const char* says) {
        const Error error = refusal(verb);
        EXPECT_EQ(error.code, code) << error.message();
        EXPECT_THAT(error.message(), HasSubstr(says));
    }

    // The container runs without RDMA, and can be found.
    void start_without() {
        ASSERT_TRUE(life_.precreate());
        write_runc_state(state_.root(), life_.id(), life_.bundle(), init());
    }

    // The config.json that its runtime reads.
    oci::Json config() {
        return json_of(*base::RealFiles{}.read(life_.bundle() + "/config.json", 65536));
    }

    void set_config(const oci::Json& spec) {
        std::ofstream(life_.bundle() + "/config.json") << spec.dump();
    }

    netns::ProcessToken init() { return {.pid = life_.init, .start = process().start}; }

    FakeHost fake_;
    StateDir state_;
    Life life_{fake_, state_, "one"};
};

TEST_F(Running, IsGivenWhatAPlainHookGives) {
    const World before = fake_.world;
    start_without();
    const auto answer = ask(hook::ctl::attach);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(process().placed,
              (std::set<std::string>{
                  "dev/infiniband/uverbs0", "dev/infiniband/rdma_cm", "run/rdma/attach.json"}));
    EXPECT_EQ(process().devices.size(), 2U);
    EXPECT_EQ(process().memlock.hard, ~uint64_t{0});
    EXPECT_EQ(answer->json["environment"]["RDMA_DEVICE"],
              fake_.world.rdma.begin()->second.device.name);
    EXPECT_THAT(answer->text, HasSubstr("\nRDMA_NETDEV=rdma0\n"));
    EXPECT_THAT(answer->text, HasSubstr("daemon-reload"));
    const auto detached = ask(hook::ctl::detach);
    ASSERT_TRUE(detached) << detached.error().message();
    fake_.settle();
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(Running, TheSameAgainIsNothingMoreAndOtherIsRefused) {
    start();
    const World once = fake_.world;
    const auto again = ask(hook::ctl::attach);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_THAT(again->text, HasSubstr("has this already"));
    EXPECT_EQ(fake_.world, once) << difference(once, fake_.world);
    life_.annotations["rdma.ip"] = "10.9.0.2/24";
    expect_refusal(hook::ctl::attach, Code::Refused, "rdmactl detach ");
    life_.annotations["rdma.ip"] = "10.9.0.1/24";
    life_.annotations["rdma.1.mode"] = "softiwarp";
    expect_refusal(hook::ctl::attach, Code::Refused, "other RDMA while it ran");
    ASSERT_TRUE(ask(hook::ctl::detach));
    EXPECT_TRUE(ask(hook::ctl::attach)) << "after a detach";
}

// Containers that share a device of the host need not have the same nodes of it.
TEST_F(Running, NodesThatItDoesNotHaveAreOtherRdma) {
    auto& policy = state_.config().policy.emplace();
    policy.modes = {"host"};
    policy.devices = {*hook::parse_device_spec("all")};
    policy.umad = true;
    const uint32_t index = fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe9", "rxe");
    fake_.world.rdma.at(index).mad_nodes = {{"umad0", 231, 0}};
    life_.annotations = {{"rdma.mode", "host"}, {"rdma.device", "rxe9"}};
    start();
    life_.annotations["rdma.umad"] = "on";
    expect_refusal(hook::ctl::attach, Code::Refused, "other RDMA while it ran");
    fake_.processes.searches = 0;
    ASSERT_TRUE(ask(hook::ctl::detach));
    const int searches = fake_.processes.searches;
    EXPECT_GT(searches, 0);

    ASSERT_TRUE(ask(hook::ctl::attach));
    EXPECT_EQ(process().placed.count("dev/infiniband/umad0"), 1U);
    const auto again = ask(hook::ctl::attach);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_THAT(again->text, HasSubstr("has this already"));
    fake_.processes.searches = 0;
    ASSERT_TRUE(ask(hook::ctl::detach));
    EXPECT_EQ(fake_.processes.searches, 2 * searches) << "for the umad node, too";
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(Running, AContainerThatStartedWithRdmaKeepsIt) {
    life_.running = false;
    life_.plain = true;
    start();
    write_runc_state(state_.root(), life_.id(), life_.bundle(), init());
    expect_refusal(hook::ctl::attach, Code::Refused, "was started with rdma.* annotations");
    life_.annotations["rdma.1.mode"] = "softiwarp";
    expect_refusal(hook::ctl::attach, Code::Refused, "was started with rdma.* annotations");
    expect_refusal(hook::ctl::detach, Code::Refused, "since its start");
    // The devices that precreate wrote are no wish of the container's.
    oci::Json spec = config();
    spec["linux"]["devices"].push_back(
        {{"path", "/dev/infiniband/uverbs0"}, {"type", "c"}, {"major", 231}, {"minor", 192}});
    set_config(spec);
    expect_refusal(hook::ctl::attach, Code::Refused, "was started with rdma.* annotations");
}

TEST_F(Running, WhatPrecreatePreparedIsNotDetached) {
    life_.running = false;
    ASSERT_TRUE(life_.precreate());
    expect_refusal(hook::ctl::detach, Code::Refused, "since its start");
    ASSERT_TRUE(life_.create_runtime());
    expect_refusal(hook::ctl::detach, Code::Refused, "since its start");
}

TEST_F(Running, ThePolicyJudgesAsForAnnotations) {
    start_without();
    state_.config().policy = hook::Policy{};
    state_.config().policy->modes = {"shared"};
    expect_refusal(hook::ctl::attach, Code::Refused, "rdma.mode");
}

TEST_F(Running, APodNeedsAPolicy) {
    start_without();
    oci::Json spec = config();
    spec["linux"]["cgroupsPath"] = "/kubepods/pod1/one";
    set_config(spec);
    expect_refusal(hook::ctl::attach, Code::Refused, "policy");
}

TEST_F(Running, TheCommandLineMakesSense) {
    start_without();
    life_.annotations["rdma.optional"] = "true";
    expect_refusal(hook::ctl::attach, Code::Usage, "rdma.optional");
    life_.annotations = {{"somebody", "else"}};
    expect_refusal(hook::ctl::attach, Code::Usage, "nothing is asked for");
    expect_refusal(hook::ctl::detach, Code::Unavailable, "has RDMA");
}

TEST_F(Running, TheHostsNetworkIsRefused) {
    start_without();
    process().ns = fake_.world.host;
    expect_refusal(hook::ctl::attach, Code::Refused, "host's network namespace");
}

TEST_F(Running, ABundleThatOthersCanWriteIsRefused) {
    start_without();
    std::filesystem::permissions(life_.bundle(), std::filesystem::perms::all);
    expect_refusal(hook::ctl::attach, Code::Refused, "written by others");
}

// ---- the end of a container that no hook tells of

TEST_F(Running, GcTakesAllBackAtItsEnd) {
    World before = fake_.world;
    start();
    fake_.world.processes.erase(life_.init);
    before.processes.erase(life_.init);
    EXPECT_EQ(collect(fake_, state_).containers.size(), 1U);
    fake_.settle();
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(Running, TheNextRunOfTheSameContainerStartsClean) {
    start();
    process().start += 1;  // it has ended and runs again
    process().placed.clear();
    process().devices.clear();
    process().memlock = {.soft = 65536, .hard = 65536};
    expect_refusal(hook::ctl::attach, Code::Unavailable, "does not run");
    write_runc_state(state_.root(), life_.id(), life_.bundle(), init());
    EXPECT_TRUE(ask(hook::ctl::attach));
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(process().devices.size(), 2U);
}

TEST_F(Running, DetachOfOneThatHasEndedTakesAllBack) {
    start();
    fake_.world.processes.erase(life_.init);
    EXPECT_TRUE(ask(hook::ctl::detach));
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

// What a container asked for at its start needs no rdmactl to have an end.
TEST_F(Running, ItsEndInTheMiddleOfTheAttachUndoesTheAttach) {
    for (int k = 0;; ++k) {
        FakeHost fake;
        StateDir state;
        Life life{fake, state, "one"};
        life.running = true;
        life.annotations = life_.annotations;
        World before = fake.world;
        before.processes.erase(life.init);
        bool reached = false;
        fake.gate.meanwhile = [&](int call) {
            if (call == k) {
                fake.world.processes.erase(life.init);
                reached = true;
            }
        };
        (void)life.start();
        fake.gate.meanwhile = {};
        if (!reached)
            break;
        (void)collect(fake, state);
        fake.settle();
        EXPECT_EQ(fake.world, before) << "call " << k << ":\n" << difference(before, fake.world);
        EXPECT_EQ(state.leftovers(), std::vector<std::string>{}) << "call " << k;
    }
}

// ---- a device that is open

TEST_F(Running, ADeviceThatAProcessOfItHasOpenStays) {
    start();
    fake_.world.add_process(17, process().ns);  // docker exec
    fake_.world.add_process(18, fake_.world.host);
    FakeRdma& device = fake_.world.rdma.begin()->second;
    device.openers = {17, 18};
    expect_refusal(hook::ctl::detach, Code::Busy, " is open in process 17;");
    device.openers = {};
    device.contexts = 1;
    expect_refusal(hook::ctl::detach, Code::Busy, " is open 1 times");
    device.contexts = 0;
    EXPECT_TRUE(ask(hook::ctl::detach));
}

TEST_F(Running, TheHostsDeviceMayBeOpenInOthers) {
    life_.annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    const uint32_t index = fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe9", "rxe");
    start();
    FakeRdma& device = fake_.world.rdma.at(index);
    fake_.world.add_process(18, fake_.world.host);
    device.openers = {18};
    device.contexts = 1;
    const auto done = ask(hook::ctl::detach);
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_TRUE(process().devices.empty());
}

// A process may open the device between the look and the moment from which none can.
TEST_F(Running, OneThatOpensItMeanwhileKeepsIt) {
    start();
    const std::set<std::string> placed = process().placed;
    const std::set<std::string> devices = process().devices;
    fake_.gate.restart();
    const auto called = [&](const char* name) {
        return std::ranges::any_of(fake_.gate.calls(), [&](const std::string& call) {
            return call.find(name) != std::string::npos;
        });
    };
    fake_.gate.meanwhile = [&](int) {
        if (called("/pending/"))
            fake_.world.rdma.begin()->second.openers = {life_.init};
    };
    const auto answer = ask(hook::ctl::detach);
    fake_.gate.meanwhile = {};
    ASSERT_FALSE(answer);
    EXPECT_TRUE(called("forbid"));
    EXPECT_EQ(answer.error().code, Code::Busy) << answer.error().message();
    EXPECT_EQ(process().placed, placed);
    EXPECT_EQ(process().devices, devices);
    EXPECT_TRUE(collect(fake_, state_).containers.empty()) << "it has all that it had";
    fake_.world.rdma.begin()->second.openers.clear();
    EXPECT_TRUE(ask(hook::ctl::detach));
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(Running, LimitsGoWithTheDevice) {
    life_.annotations["rdma.max_hca_handles"] = "2";
    start();
    EXPECT_EQ(process().rdma_max.size(), 1U);
    EXPECT_TRUE(ask(hook::ctl::detach));
    EXPECT_TRUE(process().rdma_max.empty());
}

TEST_F(Running, ALimitOnMemoryOfItsOwnGivesWayToTheAnnotation) {
    start_without();
    oci::Json spec = config();
    spec["process"]["rlimits"] =
        oci::Json::array({oci::Json{{"type", "RLIMIT_MEMLOCK"}, {"soft", 65536}, {"hard", 65536}}});
    set_config(spec);
    ASSERT_TRUE(ask(hook::ctl::attach));
    EXPECT_EQ(process().memlock.hard, 65536U) << "the user's own";
    ASSERT_TRUE(ask(hook::ctl::detach));
    life_.annotations["rdma.memlock"] = "1048576";
    ASSERT_TRUE(ask(hook::ctl::attach));
    EXPECT_EQ(process().memlock.hard, 1048576U);
    ASSERT_TRUE(ask(hook::ctl::detach));
    EXPECT_EQ(process().memlock.hard, 65536U);
}

// ---- the states that runtimes keep

class KeptStates : public Running {
  protected:
    void write(const std::string& path, const std::string& text) {
        const std::filesystem::path file = state_.root() + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    std::string crun_status(const std::string& bundle) {
        return oci::Json{
            {"pid", life_.init}, {"process-start-time", process().start}, {"bundle", bundle}}
            .dump();
    }

    Result<oci::State> find(const std::string& text) {
        netns::Host host = fake_.host();
        return hook::ctl::find_running(options_for(state_, text), host);
    }

    void expect_not_found(const std::string& text, Code code, const char* says) {
        const auto state = find(text);
        ASSERT_FALSE(state) << text;
        EXPECT_EQ(state.error().code, code) << state.error().message();
        EXPECT_THAT(state.error().message(), HasSubstr(says));
    }
};

TEST_F(KeptStates, AContainerIsFoundByItsIdOrTheBeginning) {
    write_runc_state(state_.root(), "abc1", "/bundle/one", init());
    write("/run/crun/abd2/status", crun_status("/bundle/two"));
    write_runc_state(state_.root() + "/other", "zzz", "/bundle/three", init());
    std::filesystem::create_directories(state_.root() + "/run/containerd/runc/k8s.io");
    std::filesystem::rename(state_.root() + "/other/run/docker/runtime-runc/moby/zzz",
                            state_.root() + "/run/containerd/runc/k8s.io/zzz");
    EXPECT_EQ(find("abc1").value().bundle, "/bundle/one") << "not the annotation's";
    EXPECT_EQ(find("abd").value().bundle, "/bundle/two");
    EXPECT_EQ(find("z").value().bundle, "/bundle/three");
    expect_not_found("ab", Code::Usage, "abd2 or abc1");
    expect_not_found("x", Code::Unavailable, "no container 'x' runs");
    write("/run/crun/abc/status", crun_status("/bundle/four"));
    EXPECT_EQ(find("abc").value().bundle, "/bundle/four") << "the whole id";
}

TEST_F(KeptStates, WhatIsNoStateIsRefused) {
    write("/run/crun/a/status", "{");
    expect_not_found("a", Code::BadInput, "/run/crun/a");
    std::filesystem::create_directories(state_.root() + "/run/crun/b");
    expect_not_found("b", Code::Unavailable, "neither runc's state.json nor crun's status");
    write("/run/crun/c/status", R"({"pid":4711,"bundle":"/b"})");
    expect_not_found("c", Code::BadInput, "process-start-time");
    write("/run/crun/d/status", std::string(oci::kMaxStateBytes + 1, ' '));
    expect_not_found("d", Code::BadInput, "d/status");
    write("/run/crun/-e/status", crun_status("/b"));
    expect_not_found("-e", Code::Unavailable, "no container");
    write("/run/crun/f/status", crun_status("/b/../c"));
    expect_not_found("f", Code::BadInput, "'bundle'");
    write("/run/crun/g/status", crun_status("/"));
    expect_not_found("g", Code::Unavailable, "--pid and --bundle");
    std::filesystem::create_directories(state_.root() + "/run/crun/h");
    std::filesystem::create_symlink("/etc/passwd", state_.root() + "/run/crun/h/status");
    EXPECT_FALSE(find("h"));
}

TEST_F(KeptStates, APidThatIsAnotherProcessByNowIsNobodys) {
    write_runc_state(state_.root(), "abc", "/bundle", {.pid = life_.init, .start = 1});
    expect_not_found("abc", Code::Unavailable, "does not run");
    process().zombie = true;
    write("/run/crun/abd/status", crun_status("/bundle"));
    expect_not_found("abd", Code::Unavailable, "does not run");
}

TEST_F(KeptStates, APidAndABundleDoWithoutAState) {
    hook::ctl::Options options = options_for(state_, "abc");
    options.bundle = "/bundle";
    options.init = life_.init;
    netns::Host host = fake_.host();
    const auto state = hook::ctl::find_running(options, host);
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->start, process().start);
    options.init = 9;
    EXPECT_EQ(hook::ctl::find_running(options, host).error().code, Code::Unavailable);
    options.container = "../abc";
    EXPECT_EQ(hook::ctl::find_running(options, host).error().code, Code::Usage);
}

}  // namespace
}  // namespace test
