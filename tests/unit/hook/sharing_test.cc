// SPDX-License-Identifier: Apache-2.0
// Containers that share: a network namespace, an address, the host's device; and containers that
// died without a word.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/unit/hook/containers.h"

namespace test {
namespace {

constexpr pid_t kSecondInit = 4712;

class Sharing : public Containers {
  protected:
    // A container in a namespace of its own.
    Life apart(const std::string& id, const std::string& ip, pid_t init) {
        Life other = life(id, ip);
        const NetnsId ns = fake_.world.add_netns();
        other.network = "/run/netns/" + id;
        other.init = init;
        fake_.world.engine_paths[other.network] = ns;
        return other;
    }
};

TEST_F(Sharing, AnIndexThatTheHostHasIsNotDrawn) {
    for (uint32_t index = 1U << 15U; index < 1U << 16U; ++index) {
        netns::Link link;
        link.index = index;
        fake_.world.add_link(fake_.world.host, link);
    }
    Life one = life("one", "10.9.0.1/24");
    const Error refused = error_of(one.start());
    EXPECT_EQ(refused.code, base::Code::Busy) << refused.message();

    auto& links = fake_.world.namespaces[fake_.world.host].links;
    std::erase_if(links, [](const auto& link) { return link.first % 2 == 1; });
    ASSERT_TRUE(one.start());
    ASSERT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(fake_.world.rdma.begin()->second.netdev % 2, 1U);
}

TEST_F(Sharing, AnIndexThatANeighbourHasIsNotDrawn) {
    const NetnsId ns = fake_.world.engine_paths.at(World::kContainerPath);
    for (uint32_t index = 1U << 15U; index < 1U << 16U; ++index) {
        netns::Link link;
        link.index = index;
        link.kind = "macvlan";
        fake_.world.add_link(ns, link);
    }
    Life one = life("one", "10.9.0.1/24");
    const base::Error refused = refusal(one);  // a neighbour's would be gone by undo
    EXPECT_EQ(refused.code, base::Code::Busy) << refused.message();
}

// By a container that asked for it by name, between the plan of another one and its claim.
TEST_F(Sharing, AnAddressThatIsClaimedSinceItWasFoundIsNotTheLastOfThePool) {
    state_.add_pool("pool", "softroce");
    state_.config().pools.front().ranges = {
        {*netns::parse_cidr("10.9.0.1/24"), *netns::parse_cidr("10.9.0.9/24")}};
    Life one = life("one", "auto");
    one.annotations["rdma.pool"] = "pool";
    Life two = apart("two", "10.9.0.1/24", kSecondInit);
    bool once = false;
    fake_.gate.meanwhile = [&](int) {
        if (once || fake_.gate.calls().back().find("/leases/") == std::string::npos)
            return;
        once = true;
        const auto started = two.start();
        EXPECT_TRUE(started) << started.error().message();
    };
    const auto started = one.start();
    fake_.gate.meanwhile = nullptr;
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_TRUE(once);
    EXPECT_TRUE(one.environment("RDMA_GID").ends_with(":0a09:0002")) << one.environment("RDMA_GID");
    EXPECT_TRUE(one.poststop() && two.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, ARestartDoesNotKeepWhatItsEarlierLifeLeft) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.processes.erase(one.init);
    // A leave that failed before it came to the journal takes the record along.
    ASSERT_TRUE(hook::Store(fake_.files, state_.path())
                    .remove_container(hook::container_key(one.bundle())));
    one.init = kSecondInit;
    one.network = "/run/netns/again";
    fake_.world.engine_paths[one.network] = fake_.world.add_netns();
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, TheContainerIsToldWhatItGot) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    ASSERT_EQ(fake_.world.rdma.size(), 1U);
    const FakeRdma& rdma = fake_.world.rdma.begin()->second;
    EXPECT_EQ(one.environment("RDMA_DEVICE"), rdma.device.name);
    EXPECT_EQ(one.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:0001");
    EXPECT_EQ(one.environment("RDMA_NETDEV"), "rdma0");
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=" + rdma.device.name);
    EXPECT_EQ(one.environment("UCX_NET_DEVICES"), rdma.device.name + ":1");
    EXPECT_EQ(one.environment("UCX_UD_VERBS_ETH_DGID_CHECK"), "n");
    EXPECT_EQ(one.nodes(),
              (std::vector<std::string>{"/dev/infiniband/" + rdma.uverbs.name,
                                        "/dev/infiniband/rdma_cm"}));
    const FakeLink* link = fake_.world.find_link(rdma.netdev_ns, rdma.netdev);
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->link.kind, "macvlan");
    EXPECT_GE(link->link.index, 1U << 15U);  // none that the kernel gives itself
    EXPECT_LT(link->link.index, 1U << 16U);  // Open MPI's daemons read 16 bits
    EXPECT_EQ(link->link.mac.bytes[0], 0x02);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// Nodes of a cluster have bundles of the same path, and one network.
TEST_F(Sharing, ItsMacIsItsOwnOnTheNetworkAndTheSameAtEachStart) {
    const auto mac_of_start = [&] {
        Life one = life("one", "10.9.0.1/24");
        EXPECT_TRUE(one.start());
        const FakeRdma& rdma = fake_.world.rdma.begin()->second;
        const netns::Mac mac = fake_.world.find_link(rdma.netdev_ns, rdma.netdev)->link.mac;
        EXPECT_TRUE(one.poststop());
        return to_string(mac);
    };
    const std::string here = mac_of_start();
    EXPECT_EQ(mac_of_start(), here);
    const netns::Mac before = fake_.world.find_link(fake_.world.host, World::kHostLink)->link.mac;
    fake_.world.set_mac(fake_.world.host, World::kHostLink, *netns::parse_mac("52:54:00:00:00:77"));
    EXPECT_NE(mac_of_start(), here) << "of another host";
    fake_.world.set_mac(fake_.world.host, World::kHostLink, before);
    expect_nothing_left();
}

TEST_F(Sharing, AnEqualRequestInTheSameNetworkJoins) {
    Life one = life("one", "10.9.0.1/24");
    Life two = life("two", "10.9.0.1/24");
    two.init = kSecondInit;
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(one.nodes(), two.nodes());
    EXPECT_EQ(one.environment("RDMA_DEVICE"), two.environment("RDMA_DEVICE"));
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 1U) << "the first to end took the second's device";
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, ADifferentRequestInTheSameNetworkIsRefused) {
    Life one = life("one", "10.9.0.1/24");
    Life two = life("two", "10.9.0.2/24");
    ASSERT_TRUE(one.start());
    const Error second = refusal(two);
    EXPECT_EQ(second.code, base::Code::Refused);
    EXPECT_NE(second.message().find("rdma0"), std::string::npos);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, AnotherInterfaceInTheSameNetworkIsAnotherAttachment) {
    Life one = life("one", "10.9.0.1/24");
    Life two = life("two", "10.9.0.2/24");
    two.annotations["rdma.ifname"] = "rdma7";
    two.init = kSecondInit;
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    EXPECT_EQ(fake_.world.rdma.size(), 2U);
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, AnAddressThatSomebodyHasIsRefused) {
    Life one = life("one", "10.9.0.1/24");
    Life two = apart("two", "10.9.0.1/24", kSecondInit);
    ASSERT_TRUE(one.start());
    const Error second = refusal(two);
    EXPECT_EQ(second.code, base::Code::Busy);
    EXPECT_NE(second.message().find("10.9.0.1"), std::string::npos);
    ASSERT_TRUE(one.poststop());
    EXPECT_TRUE(two.start());
}

TEST_F(Sharing, TheAddressOfADeadContainerIsFree) {
    Life one = life("one", "10.9.0.1/24");
    Life two = apart("two", "10.9.0.1/24", kSecondInit);
    ASSERT_TRUE(one.start());
    fake_.world.processes.erase(one.init);  // killed, and its engine with it: no poststop
    EXPECT_TRUE(two.start());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, TheSameBundleStartsAgainAfterALostEnd) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.precreate().error().code, base::Code::Busy) << "it is running";
    fake_.world.processes.erase(one.init);
    EXPECT_TRUE(one.start());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, ALatePoststopOfAnEarlierStartTakesNothing) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    Life late = one;
    fake_.world.processes.erase(one.init);
    ASSERT_TRUE(one.start());
    const pid_t alive = one.init;
    late.init = 99999;
    ASSERT_TRUE(late.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_TRUE(fake_.world.processes.contains(alive));
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, AFailedCreateIsUndoneByTheNextAttach) {
    Life one = life("one", "10.9.0.1/24");
    Life two = apart("two", "10.9.0.2/24", kSecondInit);
    ASSERT_TRUE(one.precreate());  // and then the runtime fails: no poststop
    fake_.world.processes.erase(World::kEngine);
    fake_.world.add_process(1001, fake_.world.host);
    fake_.world.parent = 1001;
    ASSERT_TRUE(two.start());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, WhatADeadProcessHadHalfWrittenIsSwept) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    std::vector<std::string> half;
    for (const char* name : {"pending/a.json", "journals/b.json", "leases/c", "attach/d.json"})
        half.push_back(state_.path() + "/" + name + ".tmp.2147483647");
    for (const std::string& path : half)
        ASSERT_TRUE(fake_.files.write(path, "{"));
    auto swept = collect(fake_, state_).leftovers;
    std::sort(swept.begin(), swept.end());
    std::sort(half.begin(), half.end());
    EXPECT_EQ(swept, half);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, TheNamespaceThatAnOrphanedConnectionKeepsIsCleaned) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const NetnsId ns = fake_.world.engine_paths.at(World::kContainerPath);
    fake_.world.namespaces[ns].open_connection = true;
    fake_.world.engine_paths.erase(World::kContainerPath);  // Podman unmounts before poststop
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
    ASSERT_TRUE(fake_.world.namespaces.contains(ns));
    for (const auto& [index, link] : fake_.world.namespaces[ns].links)
        EXPECT_NE(link.link.kind, "macvlan") << "a dead container's interface answers ARP";
}

TEST_F(Sharing, TheHostsDeviceGoesWithItsLastUser) {
    fake_.world.kernel = KernelTraits::v6_12();
    Life one = life("one", "");
    Life two = apart("two", "", kSecondInit);
    for (Life* each : {&one, &two})
        each->annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(one.nodes().size(), 1U)
        << "no rdma_cm: it would resolve in the container's namespace";
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, AMovedDeviceHasNoConnectionManagerAndSaysSo) {
    fake_.world.kernel = KernelTraits::v7_3();
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.nodes().size(), 1U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Sharing, OldKernelsAreRefusedWithTheWayOut) {
    fake_.world.kernel = KernelTraits::v6_12();
    Life one = life("one", "10.9.0.1/24");
    const Error refused = error_of(one.precreate());
    EXPECT_EQ(refused.code, base::Code::Unsupported);
    EXPECT_NE(refused.message().find("rdma.placement=host"), std::string::npos);
    expect_nothing_left();
}

TEST_F(Sharing, ExclusiveModeBeforeTheMoveIsRefused) {
    fake_.world.kernel = KernelTraits::v7_2();
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life one = life("one", "10.9.0.1/24");
    const Error refused = error_of(one.precreate());
    EXPECT_NE(refused.message().find("7.3"), std::string::npos) << refused.message();
    expect_nothing_left();
}

TEST_F(Sharing, AContainerInAStrangeNamespaceIsNotCommitted) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.precreate());
    fake_.world.engine_paths[World::kContainerPath] = fake_.world.add_netns();
    EXPECT_EQ(one.create_runtime().error().code, base::Code::Refused);
}

TEST_F(Sharing, RangesAreGivenOutOnceEach) {
    state_.config().pools.push_back(
        {.name = "fast",
         .mode = "softroce",
         .is_default = true,
         .choose = hook::Choose::First,
         .ranges = {{*netns::parse_cidr("10.9.0.10/24"), *netns::parse_cidr("10.9.0.11/24")}}});
    Life one = apart("a", "auto", 5001);
    Life two = apart("b", "auto", 5002);
    Life three = apart("c", "auto", 5003);
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    EXPECT_EQ(two.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:000b");
    const Error none = error_of(three.start());
    EXPECT_NE(none.message().find("no free address"), std::string::npos);
    ASSERT_TRUE(one.poststop());
    ASSERT_TRUE(three.start());
    EXPECT_EQ(three.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:000a");
}

TEST_F(Sharing, ContainersOfNoConcernPassUntouchedAndUnread) {
    netns::Host host = fake_.host();
    const hook::Call call{.host = host,
                          .config = hook::ReadOnce{[]() -> base::Result<hook::Config> {
                              return base::make_error(base::Code::BadConfig, "broken");
                          }},
                          .bundle = "/b"};
    const std::string text =
        R"({ "ociVersion" : "1.0.0", "annotations":{"rdma.x/y":"z","a":"b"} })";
    const auto output = hook::precreate(text, call);
    ASSERT_TRUE(output);
    EXPECT_EQ(output->spec, text);
    EXPECT_EQ(fake_.gate.mutating_calls(), 0);
}

}  // namespace
}  // namespace test
