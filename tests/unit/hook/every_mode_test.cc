// SPDX-License-Identifier: Apache-2.0
// The chief test: each way to attach is taken through a container's life, and at every call that
// changes anything (in the kernel or on disk) that call once fails, once has its effect and reports
// failure, and once the program dies before and once after it. Each time the world and the state on
// disk must end as they began.
#include <cerrno>
#include <functional>

#include <gtest/gtest.h>

#include "tests/unit/hook/life.h"

namespace test {
namespace {

struct Way {
    std::string name;
    World world;
    std::map<std::string, std::string> annotations;
    std::string network = World::kContainerPath;
    std::function<void(hook::Config&)> configure = [](hook::Config&) {};
};

World exclusive() {
    World world = World::standard(KernelTraits::v7_3());
    world.mode = netns::RdmaNetnsMode::Exclusive;
    return world;
}

World with_container_link() {
    World world = World::standard();
    const NetnsId ns = world.engine_paths.at(World::kContainerPath);
    const uint32_t index = world.add_link(
        ns, {.name = "eth0", .kind = "veth", .mac = {{2, 0, 0, 0, 7, 7}}, .mtu = 1500, .up = true});
    world.find_link(ns, index)->addresses.push_back(*netns::parse_cidr("10.88.0.5/16"));
    return world;
}

void add_pool(hook::Config& config) {
    config.pools.push_back(
        {.name = "fast",
         .mode = "softroce",
         .is_default = true,
         .parents = {},
         .ranges = {{*netns::parse_cidr("10.9.0.10/24"), *netns::parse_cidr("10.9.0.12/24")}},
         .defaults = {}});
}

std::vector<Way> ways() {
    const std::map<std::string, std::string> plain = {{"rdma.mode", "softroce"},
                                                      {"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}};
    return {
        {.name = "macvlan", .world = World::standard(), .annotations = plain},
        {.name = "own_netns", .world = World::standard(), .annotations = plain, .network = ""},
        {.name = "exclusive", .world = exclusive(), .annotations = plain},
        {.name = "no_address",
         .world = World::standard(),
         .annotations = {{"rdma.mode", "softroce"}}},
        {.name = "from_range",
         .world = World::standard(),
         .annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "auto"}},
         .network = World::kContainerPath,
         .configure = add_pool},
        {.name = "container_link",
         .world = with_container_link(),
         .annotations = {{"rdma.mode", "softroce"},
                         {"rdma.parent", "container"},
                         {"rdma.ip", "10.88.9.9/16"}}},
        {.name = "host_placement",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}}},
        {.name = "two_rails",
         .world = World::standard(),
         .annotations = {{"rdma.0.mode", "softroce"},
                         {"rdma.0.ip", "10.9.0.1/24"},
                         {"rdma.1.mode", "softroce"},
                         {"rdma.1.ip", "10.9.1.1/24"}}},
        {.name = "refused_old_kernel",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = plain},
        {.name = "optional_old_kernel",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = {{"rdma.mode", "softroce"}, {"rdma.optional", "true"}}},
    };
}

class EveryMode : public testing::TestWithParam<Way> {
  protected:
    // Runs the whole life with one fault set by `arm(k)`; false when k is past the last call.
    // The faulty program may have died; then the engine is gone too, and gc comes.
    static bool live(const std::function<void(Gate&, int)>& arm, int k) {
        const Way& way = GetParam();
        FakeHost fake{way.world};
        StateDir state;
        way.configure(state.config());
        Life life{fake, state, "one"};
        life.annotations = way.annotations;
        life.network = way.network;
        World before = fake.world;
        arm(fake.gate, k);
        bool reached = false;
        try {
            run_life(life, fake);
            reached = fake.gate.mutating_calls() > k;
        } catch (const Crash&) {
            reached = true;
        }
        fake.settle();
        fake.world.processes.erase(life.init);
        fake.world.processes.erase(World::kEngine);
        EXPECT_TRUE(collect(fake, state).trouble.empty()) << "call " << k;
        fake.settle();
        before.processes.erase(life.init);
        before.processes.erase(World::kEngine);
        before.settle();
        EXPECT_EQ(fake.world, before) << "call " << k << ":\n" << difference(before, fake.world);
        EXPECT_EQ(state.leftovers(), std::vector<std::string>{}) << "call " << k;
        return reached;
    }

    static void run_life(Life& life, FakeHost& fake) {
        if (life.precreate() && life.create_runtime())
            (void)life.poststop();  // a failing undo is gc's to finish
        (void)fake;
    }

    static void at_every_call(const std::function<void(Gate&, int)>& arm) {
        int k = 0;
        while (live(arm, k))
            ++k;
        RecordProperty("calls", k);
        EXPECT_GE(k, 10) << "the life has fewer changing calls than a journal alone needs";
    }
};

TEST_P(EveryMode, LivesAndLeavesNothing) {
    EXPECT_FALSE(live([](Gate&, int) {}, 1000000));
}

TEST_P(EveryMode, ReturnsToStartWhateverCallFails) {
    at_every_call([](Gate& gate, int k) { gate.fail_call(k, EBUSY); });
}

TEST_P(EveryMode, ReturnsToStartWhateverCallLies) {
    at_every_call([](Gate& gate, int k) { gate.lie_call(k, EIO); });
}

TEST_P(EveryMode, ReturnsToStartWhereverItCrashes) {
    at_every_call([](Gate& gate, int k) { gate.crash_call(k); });
}

TEST_P(EveryMode, ReturnsToStartWhereverItCrashesAfterwards) {
    at_every_call([](Gate& gate, int k) { gate.crash_after(k); });
}

// A failing attach rolls back at once, without waiting for gc; and the same container starts after.
TEST_P(EveryMode, FailingAttachRollsBackByItself) {
    const Way& way = GetParam();
    for (int k = 0;; ++k) {
        FakeHost fake{way.world};
        StateDir state;
        way.configure(state.config());
        Life life{fake, state, "one"};
        life.annotations = way.annotations;
        life.network = way.network;
        const World before = fake.world;
        fake.gate.fail_call(k, EIO);
        const bool attached = life.precreate().has_value();
        const bool reached = fake.gate.mutating_calls() > k;
        fake.settle();
        if (!reached)
            break;
        if (!attached) {
            EXPECT_EQ(fake.world, before) << "call " << k << ":\n"
                                          << difference(before, fake.world);
            const bool refused_anyway = way.name == "refused_old_kernel";
            EXPECT_EQ(life.start().has_value(), !refused_anyway) << "second try after call " << k;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Softroce, EveryMode, testing::ValuesIn(ways()), [](const auto& param) {
    return param.param.name;
});

}  // namespace
}  // namespace test
