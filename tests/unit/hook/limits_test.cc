// SPDX-License-Identifier: Apache-2.0
// Limits of what a container may use up of its device. They are set when its cgroup is there;
// otherwise the container does not start.
#include <gtest/gtest.h>

#include "tests/unit/hook/containers.h"

namespace test {
namespace {

constexpr pid_t kJoinersInit = 4712;

class LimitsOfContainers : public Containers {
  protected:
    Life life(const std::string& id, const std::string& objects) {
        Life life{fake_, state_, id};
        life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
        if (!objects.empty())
            life.annotations["rdma.max_hca_objects"] = objects;
        return life;
    }

    // Of a process' cgroup, for its one device.
    std::optional<netns::RdmaLimit> max(pid_t pid) {
        const auto& all = fake_.world.processes.at(pid).rdma_max;
        if (all.empty())
            return std::nullopt;
        EXPECT_EQ(all.size(), 1U);
        return all.begin()->second;
    }
};

TEST_F(LimitsOfContainers, AreSetForItsDevice) {
    Life one = life("one", "100");
    one.annotations["rdma.max_hca_handles"] = "2";
    ASSERT_TRUE(one.start());
    EXPECT_EQ(
        max(one.init),
        (netns::RdmaLimit{.device = one.environment("RDMA_DEVICE"), .handles = 2, .objects = 100}));
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// The init died while its hook ran, and its number went to somebody else.
TEST_F(LimitsOfContainers, ANumberThatIsAnotherProcessByNowIsNotLimited) {
    Life one = life("one", "100");
    fake_.gate.meanwhile = [&](int) {
        if (fake_.gate.calls().back().starts_with("limit "))
            fake_.world.processes.at(one.init).start += 1;
    };
    const auto started = one.start();
    fake_.gate.meanwhile = nullptr;
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, base::Code::Unavailable) << started.error().message();
    EXPECT_FALSE(max(one.init));
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(LimitsOfContainers, WithoutAnnotationThereIsNone) {
    Life one = life("one", "");
    ASSERT_TRUE(one.start());
    EXPECT_FALSE(max(one.init));
    ASSERT_TRUE(one.poststop());
}

TEST_F(LimitsOfContainers, EachDeviceHasItsOwn) {
    Life one = life("one", "100");
    one.annotations["rdma.1.mode"] = "softroce";
    one.annotations["rdma.1.ip"] = "10.9.1.1/24";
    one.annotations["rdma.1.max_hca_handles"] = "7";
    ASSERT_TRUE(one.start());
    const auto& all = fake_.world.processes.at(one.init).rdma_max;
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all.at(one.environment("RDMA_DEVICE")).objects, 100U);
    EXPECT_FALSE(all.at(one.environment("RDMA_DEVICE")).handles);
    EXPECT_EQ(all.at(one.environment("RDMA_DEVICE_1")).handles, 7U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// RLIMIT_MEMLOCK in config.json, of who did not ask and of who did.
TEST_F(LimitsOfContainers, MemlockIsWhatThePolicyAllows) {
    const auto rlimits = [&](const char* asked) {
        Life one = life("one", "");
        one.annotations["rdma.parent"] = "eth0";
        if (asked != nullptr)
            one.annotations["rdma.memlock"] = asked;
        EXPECT_TRUE(one.start());
        const std::string text = one.spec()["process"].value("rlimits", oci::Json::array()).dump();
        EXPECT_TRUE(one.poststop());
        return text;
    };
    EXPECT_NE(rlimits(nullptr).find("18446744073709551615"), std::string::npos) << "no policy";
    hook::Policy policy;
    policy.modes = {"softroce"};
    policy.parents = {"eth0"};
    policy.addresses = {*netns::parse_cidr("10.9.0.0/16")};
    state_.config().policy = policy;
    EXPECT_EQ(rlimits(nullptr), "[]") << "a policy that does not say leaves it to the engine";
    state_.config().policy->memlock_max = 65536;
    EXPECT_EQ(rlimits(nullptr), R"([{"type":"RLIMIT_MEMLOCK","hard":65536,"soft":65536}])");
    EXPECT_EQ(rlimits("4096"), R"([{"type":"RLIMIT_MEMLOCK","hard":4096,"soft":4096}])");
    expect_nothing_left();
}

TEST_F(LimitsOfContainers, HoldInExclusiveModeAndForTheHostsDevice) {
    fake_.world.kernel = KernelTraits::v7_3();
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life moved = life("moved", "100");
    ASSERT_TRUE(moved.start());
    EXPECT_EQ(max(moved.init)->objects, 100U);
    ASSERT_TRUE(moved.poststop());
    fake_.world.mode = netns::RdmaNetnsMode::Shared;
    Life shared = life("shared", "50");
    shared.annotations["rdma.placement"] = "host";
    shared.annotations.erase("rdma.ip");
    ASSERT_TRUE(shared.start());
    EXPECT_EQ(max(shared.init)->objects, 50U);
    ASSERT_TRUE(shared.poststop());
    expect_nothing_left();
}

TEST_F(LimitsOfContainers, WhoJoinsHasItsOwnOrNone) {
    Life one = life("one", "100");
    Life two = life("two", "30");
    two.init = kJoinersInit;
    ASSERT_TRUE(one.start());
    const auto joined = two.start();
    ASSERT_TRUE(joined) << "a limit is no part of what is shared: " << joined.error().message();
    EXPECT_EQ(max(one.init)->objects, 100U);
    EXPECT_EQ(max(two.init)->objects, 30U);
    ASSERT_TRUE(two.poststop());
    Life three = life("three", "");
    three.init = kJoinersInit;
    ASSERT_TRUE(three.start());
    EXPECT_FALSE(max(three.init));
    ASSERT_TRUE(one.poststop());
    ASSERT_TRUE(three.poststop());
    expect_nothing_left();
}

// The limits that a start without RDMA, or before the cgroup is there, cannot have.
TEST_F(LimitsOfContainers, AHostThatCannotLimitRefusesBeforeAnythingIsAttached) {
    fake_.world.kernel.rdma_cgroup = false;
    Life one = life("one", "100");
    const Error refused = refusal(one);
    EXPECT_EQ(refused.code, base::Code::Unsupported);
    EXPECT_NE(refused.message().find("cgroup v2"), std::string::npos);
    expect_nothing_left();
    Life free = life("free", "");
    EXPECT_TRUE(free.start()) << "nobody asked for a limit";
    ASSERT_TRUE(free.poststop());
    Life optional = life("optional", "100");
    optional.annotations["rdma.optional"] = "true";
    ASSERT_TRUE(optional.start()) << "without a device there is nothing to limit";
    EXPECT_NE(optional.environment("RDMA_ERROR"), "");
    ASSERT_TRUE(optional.poststop());
    expect_nothing_left();
}

TEST_F(LimitsOfContainers, OneThatCannotBeSetEndsTheStart) {
    for (const char* optional : {"false", "true"}) {
        fake_.world.own_cgroups = true;
        Life one = life("one", "100");
        one.annotations["rdma.optional"] = optional;
        ASSERT_TRUE(one.precreate());
        fake_.world.own_cgroups = false;
        const auto refused = one.create_runtime();
        ASSERT_FALSE(refused) << "optional " << optional;
        EXPECT_EQ(refused.error().code, base::Code::Unsupported);
        EXPECT_NE(refused.error().message().find("limit the container's use of rxe"),
                  std::string::npos)
            << refused.error().message();
        ASSERT_TRUE(one.poststop());
        expect_nothing_left();
    }
}

TEST_F(LimitsOfContainers, AfterAFailureWithoutPoststopGcCleansUp) {
    Life one = life("one", "100");
    ASSERT_TRUE(one.precreate());
    fake_.gate.restart();
    fake_.gate.fail_call(0, ENODEV);
    const auto refused = one.create_runtime();
    ASSERT_FALSE(refused);
    EXPECT_EQ(fake_.gate.calls().at(0), "limit " + one.environment("RDMA_DEVICE"))
        << "nothing is committed before the limit is set";
    fake_.gate.restart();
    fake_.world.processes.erase(one.init);
    fake_.world.processes.erase(World::kEngine);
    EXPECT_TRUE(collect(fake_, state_).trouble.empty());
    expect_nothing_left();
}

TEST_F(LimitsOfContainers, ThePolicysBoundIsSetForWhoDoesNotAsk) {
    hook::Policy policy;
    policy.modes = {"softroce"};
    policy.parents = {"eth0"};
    policy.addresses = {*netns::parse_cidr("10.9.0.0/16")};
    policy.handles = 4;
    state_.config().policy = policy;
    Life one = life("one", "");
    one.annotations["rdma.parent"] = "eth0";
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(max(one.init)->handles, 4U);
    ASSERT_TRUE(one.poststop());
}

}  // namespace
}  // namespace test
