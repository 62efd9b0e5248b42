// SPDX-License-Identifier: Apache-2.0
// How a VF comes back, whatever happened to it while a container had it.
#include <algorithm>
#include <functional>
#include <vector>

#include "tests/unit/hook/vf_life.h"

namespace test {
namespace {

class VfReturns : public VfLife {
  protected:
    VfReturns() : one_(container("one")) {
        one_.annotations["rdma.vlan"] = "7";
        one_.annotations["rdma.mac"] = "02:00:5e:10:00:01";
    }

    // The container dies with its namespace, and nobody calls us.
    void die() {
        fake_.world.processes.erase(one_.init);
        fake_.world.engine_paths.erase(one_.network);
    }

    bool& promiscuous(const std::string& address) {
        const auto at = fake_.world.netdev_of(address);
        return fake_.world.find_link(at->first, at->second)->link.promiscuous;
    }

    Life one_;
};

TEST_F(VfReturns, AfterTheNamespaceDiedWithoutUs) {
    ASSERT_TRUE(one_.start());
    die();
    fake_.world.pins.clear();  // somebody unmounted our pin, too
    fake_.settle();
    ASSERT_EQ(place(vf(0)), fake_.world.host);
    ASSERT_EQ(netdev(vf(0)).name, "rdma0") << "the kernel gives it back under its last name";
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(VfReturns, WithTheNameAndMacThatTheContainerGaveIt) {
    one_.annotations.erase("rdma.mac");
    ASSERT_TRUE(one_.start());
    netdev(vf(0)).name = "ib0";
    netdev(vf(0)).mtu = 900;
    netdev(vf(0)).alias = "mine";
    const auto at = *fake_.world.netdev_of(vf(0));
    fake_.world.set_mac(at.first, at.second, *netns::parse_mac("02:00:00:00:00:99"));
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
}

// A name that some network has would keep the VF from every container there.
TEST_F(VfReturns, WithoutTheFurtherNamesThatTheContainerGaveIt) {
    one_.annotations.erase("rdma.mac");
    netdev(vf(0)).altnames = {"enp1s0v0np0", "rack7"};
    start_ = fake_.world;
    ASSERT_TRUE(one_.start());
    netdev(vf(0)).altnames.emplace_back("eth0");
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(VfReturns, ThoughTheContainerGaveItANameOfTheHosts) {
    ASSERT_TRUE(one_.start());
    netdev(vf(0)).altnames.push_back(
        fake_.world.find_link(fake_.world.host, World::kHostLink)->link.name);
    const auto stopped = one_.poststop();
    EXPECT_TRUE(stopped) << stopped.error().message();
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(VfReturns, AfterTheNamespaceDiedWithAFurtherName) {
    one_.annotations.erase("rdma.mac");
    ASSERT_TRUE(one_.start());
    netdev(vf(0)).altnames.emplace_back("eth7");
    die();
    fake_.world.pins.clear();
    fake_.settle();
    EXPECT_EQ(netdev(vf(0)).altnames, std::vector<std::string>{"eth7"});
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    expect_nothing_kept();
    expect_as_before(vf(0));
}

// A netdev has endless settings, so the driver makes a new one.
TEST_F(VfReturns, AsANewNetdevFromWhoCouldSetAnythingOfIt) {
    one_.capabilities = {"CAP_NET_ADMIN"};
    ASSERT_TRUE(one_.start());
    promiscuous(vf(0)) = true;
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
    EXPECT_FALSE(promiscuous(vf(0)));
}

TEST_F(VfReturns, AsANewNetdevFromAHolderWhoCameLaterAndWentFirst) {
    one_.annotations.erase("rdma.vlan");
    Life two = container("two");
    two.annotations = one_.annotations;
    two.network = one_.network;
    two.capabilities = {"CAP_CHOWN", "CAP_NET_ADMIN"};
    ASSERT_TRUE(one_.start());
    ASSERT_TRUE(two.start());
    promiscuous(vf(0)) = true;
    ASSERT_TRUE(two.poststop());
    EXPECT_NE(place(vf(0)), fake_.world.host);
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    EXPECT_FALSE(promiscuous(vf(0)));
}

// gc would bind it anew each minute.
TEST_F(VfReturns, WithItsDriverAsItIsWhileAnotherHasItsName) {
    one_.annotations.erase("rdma.mac");
    one_.capabilities = {"CAP_NET_ADMIN"};
    ASSERT_TRUE(one_.start());
    netns::Link rival;
    rival.name = start_.find_link(start_.netdev_of(vf(0))->first, start_.netdev_of(vf(0))->second)
                     ->link.name;
    rival.kind = "dummy";
    const uint32_t index = fake_.world.add_link(fake_.world.host, rival);
    EXPECT_FALSE(one_.poststop());
    EXPECT_EQ(garbage().size(), 1U);
    EXPECT_TRUE(std::ranges::none_of(fake_.gate.calls(),
                                     [](const auto& call) { return call.starts_with("unbind"); }));
    fake_.world.destroy_link(fake_.world.host, index);
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    expect_nothing_kept();
    expect_as_before(vf(0));
}

// A driver that is bound takes a second on hardware.
TEST_F(VfReturns, WithItsDriverAsItIsFromWhoCouldSetNothing) {
    one_.annotations.erase("rdma.mac");
    one_.capabilities = {"CAP_NET_RAW"};
    one_.network.clear();
    ASSERT_TRUE(one_.start());
    const size_t begin = fake_.gate.calls().size();
    ASSERT_TRUE(one_.poststop());
    const auto& calls = fake_.gate.calls();
    EXPECT_TRUE(std::none_of(calls.begin() + static_cast<ptrdiff_t>(begin),
                             calls.end(),
                             [](const auto& call) { return call.starts_with("unbind"); }));
    expect_as_before(vf(0));
}

TEST_F(VfReturns, IfItWasBoundAnewMeanwhile) {
    ASSERT_TRUE(one_.start());
    fake_.world.unbind(vf(0));
    fake_.world.bind(vf(0));
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(VfReturns, IfItWasLeftWithoutADriver) {
    ASSERT_TRUE(one_.start());
    fake_.world.unbind(vf(0));
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(VfReturns, NotIfTheAdministratorBoundItToAnotherDriver) {
    ASSERT_TRUE(one_.start());
    fake_.world.unbind(vf(0));
    fake_.world.pci.at(vf(0)).driver = "vfio-pci";
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    EXPECT_EQ(fake_.world.pci.at(vf(0)).driver, "vfio-pci");
    EXPECT_EQ(fake_.world.pci.at(vf(0)).settings, start_.pci.at(vf(0)).settings);
}

TEST_F(VfReturns, NotIfSriovWasDisabledMeanwhile) {
    ASSERT_TRUE(one_.start());
    fake_.world.set_num_vfs(kPf, 0);
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
    fake_.world.set_num_vfs(kPf, 7);
    ASSERT_TRUE(one_.start());
    fake_.world.set_num_vfs(kPf, 0);
    fake_.world.set_num_vfs(kPf, 3);
    ASSERT_TRUE(one_.poststop());
    expect_nothing_kept();
}

TEST_F(VfReturns, WhenItsNameIsFreeAgain) {
    one_.annotations.erase("rdma.mac");
    ASSERT_TRUE(one_.start());
    netns::Link rival;
    rival.name = "enp1s0v0";
    rival.kind = "dummy";
    const uint32_t index = fake_.world.add_link(fake_.world.host, rival);
    const Error stopped = error_of(one_.poststop());
    EXPECT_EQ(stopped.code, Code::Busy);
    EXPECT_NE(stopped.message().find("cannot have its name enp1s0v0 back"), std::string::npos)
        << stopped.message();
    EXPECT_NE(stopped.message().find("dummy"), std::string::npos);
    EXPECT_EQ(place(vf(0)), fake_.world.host) << "out of the dead container in any case";
    EXPECT_FALSE(netdev(vf(0)).up);
    Life two = container("two", "enp1s0#0");
    EXPECT_EQ(refusal(two).code, Code::Busy) << "it is not free before it is as it was";
    fake_.world.destroy_link(fake_.world.host, index);
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(VfReturns, UnderAnotherIndexIfItsOwnIsTaken) {
    const uint32_t index = netdev(vf(0)).index;
    one_.annotations.erase("rdma.mac");
    ASSERT_TRUE(one_.start());
    netns::Link rival;
    rival.index = index;
    rival.name = "dummy0";
    rival.kind = "dummy";
    fake_.world.add_link(fake_.world.host, rival);
    ASSERT_TRUE(one_.poststop());
    expect_as_before(vf(0));
    EXPECT_NE(netdev(vf(0)).index, index);
}

// The netdev goes with its driver's bind, wherever it is.
TEST_F(VfReturns, FromTheContainerThatItWasGivenAwayTo) {
    for (const char* capability : {"CAP_NET_ADMIN", "CAP_CHOWN"}) {
        one_.capabilities = {capability};
        ASSERT_TRUE(one_.start());
        const NetnsId elsewhere = fake_.world.add_netns();
        fake_.world.engine_paths["/run/netns/elsewhere"] = elsewhere;
        const auto at = *fake_.world.netdev_of(vf(0));
        fake_.world.move_link(at.first, at.second, elsewhere, 55);
        const auto stopped = one_.poststop();
        EXPECT_TRUE(stopped) << stopped.error().message();
        EXPECT_TRUE(fake_.world.namespaces.at(elsewhere).links.size() == 1) << "lo alone";
        fake_.world.engine_paths.erase("/run/netns/elsewhere");
        expect_nothing_kept();
        expect_as_before(vf(0));
    }
}

// Whoever entered the namespace, by exec or as a neighbour, may have had what its holder had not.
TEST_F(VfReturns, AsANewNetdevIfSomebodyLeftSomethingOnIt) {
    one_.annotations.erase("rdma.mac");
    one_.network.clear();  // the runtime makes one for this container alone
    const std::vector<std::function<void(FakeLink&)>> somethings = {
        [](FakeLink& link) { link.link.promiscuous = true; },
        [](FakeLink& link) { link.link.xdp = true; },
        [](FakeLink& link) { link.receive_rules = 1; },
    };
    for (const auto& leave_something : somethings) {
        ASSERT_TRUE(one_.start());
        const auto at = fake_.world.netdev_of(vf(0));
        leave_something(*fake_.world.find_link(at->first, at->second));
        ASSERT_TRUE(one_.poststop());
        expect_nothing_kept();
        expect_as_before(vf(0));
        EXPECT_FALSE(promiscuous(vf(0)));
    }
}

// An undo that died after the lease was given back: its journal must not touch the next holder's.
TEST_F(VfReturns, AnOldJournalLeavesTheNextHolderAlone) {
    ASSERT_TRUE(one_.start());
    netns::Host host = fake_.host();
    const hook::Store store{host.files, state_.path()};
    const auto keys = store.journal_keys().value();
    ASSERT_EQ(keys.size(), 1U);
    const auto journal = host.files.read(store.journal_path(keys[0]), hook::kMaxStateFile).value();
    ASSERT_TRUE(one_.poststop());
    Life two = container("two", "enp1s0#0");
    two.annotations["rdma.vlan"] = "8";
    ASSERT_TRUE(two.start());
    const World before = fake_.world;
    ASSERT_TRUE(host.files.write(store.journal_path(keys[0]), journal));
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    fake_.settle();
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_EQ(store.journal_keys().value().size(), 1U);
    ASSERT_TRUE(two.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
}

class OwnDeviceReturns : public VfLife {
  protected:
    OwnDeviceReturns() : one_(container("one", "enp59s0#0")) {
        fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    }

    FakeRdma& device() {
        for (auto& [index, each] : fake_.world.rdma) {
            if (each.pci == vf(0, kMlx))
                return each;
        }
        ADD_FAILURE() << "no RDMA device";
        return fake_.world.rdma.begin()->second;
    }

    Life one_;
};

TEST_F(OwnDeviceReturns, WithItsNameAndToTheHost) {
    ASSERT_TRUE(one_.start());
    EXPECT_EQ(device().owner, netns_of(one_));
    EXPECT_EQ(device().device.name, "mlx5_1");
    device().device.name = "mine";
    ASSERT_TRUE(one_.poststop());
    EXPECT_EQ(device().owner, fake_.world.host);
    EXPECT_EQ(device().device.name, "mlx5_1");
    expect_nothing_kept();
    expect_as_before(vf(0, kMlx));
}

TEST_F(OwnDeviceReturns, AfterTheNamespaceDiedWithoutUs) {
    ASSERT_TRUE(one_.start());
    device().device.name = "mine";
    fake_.world.processes.erase(one_.init);
    fake_.world.engine_paths.erase(one_.network);
    fake_.world.pins.clear();
    fake_.settle();
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    EXPECT_EQ(device().device.name, "mlx5_1");
    expect_nothing_kept();
    expect_as_before(vf(0, kMlx));
}

}  // namespace
}  // namespace test
