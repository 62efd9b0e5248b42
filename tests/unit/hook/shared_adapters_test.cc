// SPDX-License-Identifier: Apache-2.0
// Mode shared and the ways of adapters: bonds, macvlans, VFs as parents, tables of few GIDs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::HasSubstr;

class SharedAdapter : public Containers {
  protected:
    SharedAdapter() : Containers(World::standard()) {}

    void use(Nic nic) { fake_.world = world_with(nic, KernelTraits::v7_3()); }

    Life container(const std::string& id, const std::string& ip, const std::string& parent) {
        return Containers::container(
            id, {{"rdma.mode", "shared"}, {"rdma.ip", ip}, {"rdma.parent", parent}});
    }

    FakeLink& netdev(const std::string& address) {
        const auto found = fake_.world.netdev_of(address);
        return *fake_.world.find_link(found->first, found->second);
    }

    netns::VfSettings& settings(uint32_t vf) {
        return fake_.world.pci.at(fake_.world.vf_address(kPf, vf)).settings;
    }

    // VF 0 is the host's own interface.
    void raise_vf() {
        fake_.world.set_up(
            fake_.world.host, netdev(fake_.world.vf_address(kPf, 0)).link.index, true);
    }
};

TEST_F(SharedAdapter, ATableOf32IsForFourteenAndTheRefusalSaysWhatIsLeft) {
    use(Nic::Irdma);
    std::vector<Life> all;
    for (int number = 1;; ++number) {
        Life next = container(
            "c" + std::to_string(number), "10.9.0." + std::to_string(number) + "/24", "enp1s0");
        if (const auto started = next.start(); !started) {
            EXPECT_EQ(started.error().code, Code::Busy);
            EXPECT_THAT(started.error().message(), HasSubstr("irdma_0 has 1 of 32 GIDs free"));
            break;
        }
        all.push_back(std::move(next));
    }
    EXPECT_GE(all.size(), 14U);
    for (Life& each : all)
        EXPECT_TRUE(each.poststop());
    expect_nothing_kept();
}

TEST_F(SharedAdapter, AVfThatIsCheckedCarriesNoMacvlan) {
    use(Nic::Mlx5);
    raise_vf();
    Life one = container("one", "10.9.0.1/24", "enp1s0v0");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("enp1s0v0 is VF 0 of enp1s0 with spoofchk on"));
    EXPECT_THAT(error.message(), HasSubstr("run: ip link set enp1s0 vf 0 spoofchk off"));
    settings(0).spoofchk = false;
    ASSERT_TRUE(one.start());
    EXPECT_TRUE(one.poststop());
    settings(0).spoofchk = true;
    one.annotations["rdma.child"] = "ipvlan";
    EXPECT_TRUE(one.start());
}

TEST_F(SharedAdapter, IntelsVfHasToBeTrustedToo) {
    use(Nic::Irdma);
    raise_vf();
    settings(0).spoofchk = false;
    Life one = container("one", "10.9.0.1/24", "enp1s0v0");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("with trust off"));
    EXPECT_THAT(error.message(), HasSubstr("vf 0 spoofchk off trust on"));
    settings(0).trust = true;
    EXPECT_TRUE(one.start());
}

// Ports enp1s0 and enp2s0 of bond0; the bond's RDMA device is on the active one, enp1s0.
class SharedBond : public SharedAdapter {
  protected:
    SharedBond() {
        World& world = fake_.world;
        world.add_sriov("enp1s0", kPf, 0, Nic::Mlx5);
        world.add_sriov("enp2s0", "0000:02:00.0", 0, Nic::Mlx5);
        second_ = netdev("0000:02:00.0").link.index;
        netns::Link bond;
        bond.name = "bond0";
        bond.kind = "bond";
        bond.mac = *netns::parse_mac("52:54:00:00:00:09");
        bond.mtu = 1500;
        bond.up = true;
        bond_ = world.add_link(world.host, bond);
        for (FakeLink* port : {&netdev(kPf), &netdev("0000:02:00.0")}) {
            port->link.master = bond_;
            port->bridge_port = true;
        }
        for (const auto& [index, device] : world.rdma)
            (device.device.name == "mlx5_0" ? first_device_ : second_device_) = index;
    }

    // Leaves one device, as with RoCE LAG.
    void have_one_device() {
        fake_.world.rdma.erase(second_device_);
        fake_.world.rdma.at(first_device_).device.name = "mlx5_bond_0";
    }

    void fail_over() { fake_.world.fail_over(first_device_, second_); }

    // The link that the container's interface stands on.
    uint32_t parent_of(const Life& life) {
        const NetnsId ns = fake_.world.engine_paths.at(life.network);
        for (const auto& [index, link] : fake_.world.namespaces.at(ns).links) {
            if (link.link.name == "rdma0")
                return link.link.parent;
        }
        return 0;
    }

    uint32_t bond_ = 0;
    uint32_t second_ = 0;
    uint32_t first_device_ = 0;
    uint32_t second_device_ = 0;
};

TEST_F(SharedBond, ByTheNameOfItsRdmaDevice) {
    have_one_device();
    for (const char* parent : {"bond0", "mlx5_bond_0"}) {
        Life one = container(parent, "10.9.0.1/24", parent);
        const auto started = one.start();
        ASSERT_TRUE(started) << parent << ": " << started.error().message();
        EXPECT_EQ(parent_of(one), bond_) << parent;
        EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_bond_0");
        EXPECT_TRUE(one.poststop());
        expect_nothing_kept();
    }
}

TEST_F(SharedBond, OfPortsWithDevicesOfTheirOwnTheNamedOneIsUsed) {
    Life one = container("one", "10.9.0.1/24", "mlx5_1");
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1");
    EXPECT_EQ(parent_of(one), bond_);
}

TEST_F(SharedBond, AFailoverTakesNobodysDevice) {
    have_one_device();
    Life one = container("one", "10.9.0.1/24", "bond0");
    one.annotations["rdma.max_hca_objects"] = "100";
    fake_.world.add_process(one.init, fake_.world.engine_paths.at(one.network));
    ASSERT_TRUE(one.precreate());
    fail_over();
    const auto limited = one.create_runtime();
    ASSERT_TRUE(limited) << limited.error().message();
    hook::ctl::Options options;
    options.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    netns::Host host = fake_.host();
    const auto stats = hook::ctl::stats(options, host);
    ASSERT_TRUE(stats) << stats.error().message();
    EXPECT_EQ(stats->json["containers"][0]["attachments"][0]["device"], "mlx5_bond_0");
    Life joining{fake_, state_, "joining"};
    joining.network = one.network;
    joining.init = one.init;
    joining.annotations = {
        {"rdma.mode", "shared"}, {"rdma.ip", "10.9.0.1/24"}, {"rdma.parent", "bond0"}};
    const auto joined = joining.start();
    ASSERT_TRUE(joined) << joined.error().message();
    EXPECT_TRUE(joining.poststop());
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

// It is another device that has the name, and another's interfaces.
TEST_F(SharedBond, ADeviceElsewhereIsNotTakenForIt) {
    have_one_device();
    Life one = container("one", "10.9.0.1/24", "bond0");
    ASSERT_TRUE(one.precreate());
    fail_over();
    netdev("0000:02:00.0").link.master = 0;
    Life joining{fake_, state_, "joining"};
    joining.network = one.network;
    joining.init = one.init;
    joining.annotations = {
        {"rdma.mode", "shared"}, {"rdma.ip", "10.9.0.1/24"}, {"rdma.parent", "bond0"}};
    const Error joined = error_of(joining.start());
    EXPECT_EQ(joined.code, Code::Unavailable) << joined.message();
}

}  // namespace
}  // namespace test
