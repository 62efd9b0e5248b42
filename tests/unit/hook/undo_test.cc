// SPDX-License-Identifier: Apache-2.0
// Causes that keep an undo from its end, so that gc has to finish it, and others that do not.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/steps/links.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::HasSubstr;

using Undo = Containers;

TEST_F(Undo, ADeviceInUseStaysWithAReasonAndIsFinishedLater) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.rdma.begin()->second.contexts = 1;
    const Error stopped = error_of(one.poststop());
    EXPECT_NE(stopped.message().find("open"), std::string::npos);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(fake_.world.pins.size(), 1U) << "the pin is the only way back";
    EXPECT_FALSE(collect(fake_, state_).trouble.empty());
    fake_.world.rdma.begin()->second.contexts = 0;
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

// The kernel counts contexts, and waits for ever for whoever has the node open without one.
TEST_F(Undo, ADeviceThatIsOpenWithoutAContextStaysToo) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    FakeRdma& device = fake_.world.rdma.begin()->second;
    device.openers = {4711, 17};
    const Error stopped = error_of(one.poststop());
    EXPECT_EQ(stopped.code, base::Code::Busy);
    EXPECT_NE(stopped.message().find("is still open, by process 17, 4711; end it"),
              std::string::npos)
        << stopped.message();
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    device.openers.clear();
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

// Two attaches of one network, each for an interface of its own, drew the same index at once.
TEST_F(Undo, WhatAnotherAttachMadeUnderTheSameIndexStays) {
    netns::Host host = fake_.host();
    hook::Site site{.host = host,
                    .host_ns = *host.namespaces.current(),
                    .container = *host.namespaces.open(World::kContainerPath)};
    for (const auto kind : {netns::ChildKind::Macvlan, netns::ChildKind::Ipvlan}) {
        const netns::Mac parents =
            fake_.world.find_link(fake_.world.host, World::kHostLink)->link.mac;
        const bool own_mac = kind == netns::ChildKind::Macvlan;
        netns::ChildSpec spec{.parent = World::kHostLink,
                              .index = 40'000,
                              .name = "rdma0",
                              .mac = own_mac ? *netns::parse_mac("02:00:00:00:00:01") : parents,
                              .mtu = 1500,
                              .type = {.kind = kind}};
        const hook::CreateChild first{spec};
        spec.name = "rdma1";
        spec.mac = own_mac ? *netns::parse_mac("02:00:00:00:00:02") : parents;
        const hook::CreateChild second{spec};
        ASSERT_TRUE(first.apply(site));
        ASSERT_FALSE(second.apply(site));
        EXPECT_TRUE(second.undo(site));
        const auto link = host.links.find(*site.container, 40'000);
        EXPECT_TRUE(link && *link && (*link)->name == "rdma0") << "the first one's";
        EXPECT_TRUE(first.undo(site));
        EXPECT_FALSE(*host.links.find(*site.container, 40'000));
    }
}

// The normal case on a busy host: others use devices of the same driver.
TEST_F(Undo, NoProcessIsSearchedWhereTheKernelNamesAllUsers) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const uint32_t other = fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe9", "rxe");
    fake_.world.rdma.at(other).contexts = 3;
    EXPECT_TRUE(one.poststop());
    EXPECT_EQ(fake_.processes.searches, 0);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
}

// Somebody holds as many files open as to keep us from seeing who has the device.
TEST_F(Undo, WhereTheUsersOfADeviceAreNotKnownItStays) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const uint32_t other = fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe9", "rxe");
    fake_.world.rdma.at(other).openers = {4711};
    fake_.processes.too_many = true;
    const Error stopped = error_of(one.poststop());
    EXPECT_EQ(stopped.code, base::Code::Busy);
    EXPECT_NE(stopped.message().find("cannot find out whether RDMA device"), std::string::npos)
        << stopped.message();
    EXPECT_NE(stopped.message().find("fuser /dev/infiniband/uverbs"), std::string::npos);
    EXPECT_EQ(fake_.world.rdma.size(), 2U);
    fake_.processes.too_many = false;
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    EXPECT_EQ(fake_.world.rdma.size(), 1U) << "the other one's";
    expect_nothing_kept();
}

// udev's rules of older rdma-core know no name that somebody chose.
TEST_F(Undo, ADeviceThatUdevRenamedIsOurs) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.rdma.begin()->second.device.name = "rocex0200000909fffe01";
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();

    Life two = life("two", "10.9.0.1/24");
    two.annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    ASSERT_TRUE(two.start());
    fake_.world.rdma.begin()->second.device.name = "rocex0200000909fffe02";
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

// Whatever has become of its bundle, and whoever looks from where it cannot be seen.
TEST_F(Undo, AContainerThatRunsLivesThoughItsBundleIsGone) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const World alive = fake_.world;
    std::filesystem::remove_all(one.bundle());
    fake_.world.files.erase(one.bundle());
    fake_.world.hidden.paths = true;
    const auto collected = collect(fake_, state_);
    EXPECT_TRUE(collected.containers.empty());
    fake_.world.hidden = {};
    fake_.settle();
    fake_.world.files = alive.files;
    EXPECT_EQ(fake_.world, alive) << difference(alive, fake_.world);
}

// An engine that is a service outlives a create that failed, and its bundle may stay.
TEST_F(Undo, ACreateThatNeverEndsIsUndoneInTheEnd) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.precreate());
    fake_.world.uptime += hook::kCreateTimeout - std::chrono::seconds(1);
    EXPECT_TRUE(collect(fake_, state_).containers.empty());
    fake_.world.uptime += std::chrono::seconds(1);
    EXPECT_EQ(collect(fake_, state_).containers.size(), 1U);
    expect_nothing_left();
    EXPECT_FALSE(one.create_runtime()) << "it does not start without what was prepared for it";
}

TEST_F(Undo, ANamespaceWhosePinIsGoneIsFoundWhereItLivesOn) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.pins.clear();  // umount -a -t nsfs
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// A socket alone may hold it, which nobody can list.
TEST_F(Undo, ADeviceWhoseNamespaceNobodyFindsKeepsItsAddress) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.hidden.pins = fake_.world.hidden.namespaces = true;
    const Error stopped = error_of(one.poststop());
    EXPECT_THAT(stopped.message(), HasSubstr("nothing shows the network namespace"));
    EXPECT_THAT(collect(fake_, state_).trouble, testing::Contains(HasSubstr("nothing shows")));
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    Life two = life("two", "10.9.0.1/24");
    two.network = "/run/netns/two";
    fake_.world.engine_paths[two.network] = fake_.world.add_netns();
    EXPECT_FALSE(two.precreate()) << "its address is not given to another";
    fake_.world.hidden = {};
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

// By a descriptor of the other's namespace, which came over a socket.
class GivenAway : public Undo {
  protected:
    GivenAway() : one_(life("one", "10.9.0.1/24")), elsewhere_(fake_.world.add_netns()) {
        fake_.world.engine_paths["/run/netns/elsewhere"] = elsewhere_;
        one_.capabilities = {"CAP_NET_ADMIN"};
    }

    netns::Link& give_away() {
        const NetnsId from = fake_.world.netns_of(one_.init);
        const auto& links = fake_.world.namespaces.at(from).links;
        const auto link = std::ranges::find_if(
            links, [](const auto& each) { return each.second.link.kind == "macvlan"; });
        const uint32_t index = link->first;
        fake_.world.move_link(from, index, elsewhere_, index);
        return fake_.world.find_link(elsewhere_, index)->link;
    }

    Life one_;
    NetnsId elsewhere_;
};

TEST_F(GivenAway, ALinkIsTakenBackFromWhoeverHasIt) {
    ASSERT_TRUE(one_.start());
    give_away();
    const auto stopped = one_.poststop();
    EXPECT_TRUE(stopped) << stopped.error().message();
    EXPECT_EQ(fake_.world.namespaces.at(elsewhere_).links.size(), 1U) << "lo alone";
    expect_nothing_left();
}

TEST_F(GivenAway, ALinkThatNobodyKnowsAgainKeepsItsAddressUntilItIsForgotten) {
    ASSERT_TRUE(one_.start());
    give_away().mac = *netns::parse_mac("02:00:00:00:00:99");
    const Error stopped = error_of(one_.poststop());
    EXPECT_THAT(stopped.message(), HasSubstr("rdmactl gc --forget"));
    Life two = life("two", "10.9.0.1/24");
    two.network = "/run/netns/elsewhere";
    EXPECT_FALSE(two.precreate());
    EXPECT_EQ(collect(fake_, state_).trouble.size(), 1U);
    EXPECT_TRUE(collect(fake_, state_, true).trouble.empty());
    expect_nothing_left();
}

TEST_F(GivenAway, WithItsParentALinkIsGoneForGood) {
    ASSERT_TRUE(one_.start());
    fake_.world.destroy_link(fake_.world.host, World::kHostLink);
    EXPECT_TRUE(one_.poststop());
    expect_nothing_left();
}

// Whoever cannot be looked at is not one that is being worked on.
TEST_F(Undo, GcSaysWhatItCannotLock) {
    namespace fs = std::filesystem;
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.processes.erase(one.init);
    const fs::path locks = state_.path() + "/locks";
    ASSERT_TRUE(fs::remove_all(locks) != 0 && fake_.files.write(locks, "no folder"));
    EXPECT_FALSE(collect(fake_, state_).trouble.empty());
    ASSERT_TRUE(fs::remove(locks) && fs::create_directory(locks));
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

}  // namespace
}  // namespace test
