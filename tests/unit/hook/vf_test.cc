// SPDX-License-Identifier: Apache-2.0
// Mode vf: which VF a container gets, what it becomes, and what is refused before anything changed.
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "hook/request/values.h"
#include "tests/unit/hook/vf_life.h"

namespace test {
namespace {

hook::Pool pool(std::vector<std::string> devices, hook::Choose choose = hook::Choose::First) {
    hook::Pool made;
    made.name = "vfs";
    made.mode = "vf";
    made.is_default = true;
    for (const auto& text : devices)
        made.devices.push_back(*hook::parse_device_spec(text));
    made.choose = choose;
    return made;
}

class Vf : public VfLife {
  protected:
    // The number of the VF of a PF that is in the container's namespace.
    int number_of(const Life& life, const char* pf = kPf) {
        for (uint32_t number = 0; number < fake_.world.pci.at(pf).num_vfs; ++number) {
            if (place(vf(number, pf)) == netns_of(life))
                return static_cast<int>(number);
        }
        return -1;
    }

    Life from_pool(const std::string& id) {
        Life life = container(id);
        life.annotations.erase("rdma.device");
        return life;
    }
};

TEST_F(Vf, AnIndexThatTheNetworkHasIsNotDrawn) {
    for (int i = 0; i < 7; ++i) {
        Life life = container("c" + std::to_string(i));
        for (uint32_t index = (1U << 15U) + 1; index < 1U << 16U; index += 2) {
            netns::Link link;
            link.index = index;
            fake_.world.add_link(netns_of(life), link);
        }
        ASSERT_TRUE(life.start());
        EXPECT_EQ(netdev(vf(static_cast<uint32_t>(number_of(life)))).index % 2, 0U);
    }
}

TEST_F(Vf, TheContainerGetsItAsItAsked) {
    Life one = container("one");
    one.annotations.merge(std::map<std::string, std::string>{{"rdma.ip", "10.9.0.1/24"},
                                                             {"rdma.mac", "02:00:5e:10:00:01"},
                                                             {"rdma.mtu", "1400"},
                                                             {"rdma.vlan", "7"},
                                                             {"rdma.max_tx_rate", "100"}});
    ASSERT_TRUE(one.start());
    const netns::Link& link = netdev(vf(0));
    EXPECT_EQ(place(vf(0)), netns_of(one));
    EXPECT_EQ(link.name, "rdma0");
    EXPECT_EQ(netns::to_string(link.mac), "02:00:5e:10:00:01");
    EXPECT_EQ(link.mtu, 1400U);
    EXPECT_EQ(link.alias, "enp1s0v0") << "its name on the host";
    EXPECT_TRUE(link.up && link.strict_arp);
    const netns::VfSettings& set = fake_.world.pci.at(vf(0)).settings;
    EXPECT_EQ(set.vlan->id, 7);
    EXPECT_EQ(set.rate->max, 100U);
    EXPECT_EQ(one.environment("RDMA_NETDEV"), "rdma0");
    EXPECT_EQ(one.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:0001");
    EXPECT_EQ(one.environment("UCX_UD_VERBS_ETH_DGID_CHECK"), "n") << "its device is an rxe";
    ASSERT_TRUE(one.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0));
}

TEST_F(Vf, ItsOwnDeviceIsTakenAndNoOther) {
    Life one = container("one", "enp59s0");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1");
    EXPECT_EQ(fake_.world.rdma.size(), 3U) << "no rxe";
    EXPECT_EQ(one.environment("UCX_UD_VERBS_ETH_DGID_CHECK"), "");
    EXPECT_EQ(one.nodes().size(), 2U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_kept();
    expect_as_before(vf(0, kMlx));
}

TEST_F(Vf, EightContainersOnSevenVfs) {
    std::vector<Life> lives;
    for (int i = 0; i < 8; ++i)
        lives.push_back(container("c" + std::to_string(i)));
    for (int i = 0; i < 7; ++i) {
        ASSERT_TRUE(lives[static_cast<size_t>(i)].start());
        EXPECT_EQ(number_of(lives[static_cast<size_t>(i)]), i);
    }
    const base::Error none = refusal(lives[7]);
    EXPECT_EQ(none.code, Code::Busy);
    EXPECT_NE(
        none.message().find("no free VF on enp1s0 (7 of 7 used): 7 attached; see rdmactl vf list"),
        std::string::npos)
        << none.message();
    ASSERT_TRUE(lives[3].poststop());
    ASSERT_TRUE(lives[7].start());
    EXPECT_EQ(number_of(lives[7]), 3);
    for (size_t i = 0; i < lives.size(); ++i)
        ASSERT_TRUE(i == 3 || lives[i].poststop());
    expect_nothing_kept();
    for (uint32_t number = 0; number < 7; ++number)
        expect_as_before(vf(number));
}

TEST_F(Vf, NoVfIsGivenTwiceInAnyOrderOfStartsAndStops) {
    std::vector<Life> lives;
    std::vector<bool> running(10, false);
    for (int i = 0; i < 10; ++i)
        lives.push_back(container("c" + std::to_string(i)));
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        const size_t i = random() % lives.size();
        if (running[i]) {
            ASSERT_TRUE(lives[i].poststop());
            running[i] = false;
        } else {
            running[i] = lives[i].start().has_value();
        }
        fake_.settle();
        const auto alive = std::count(running.begin(), running.end(), true);
        std::set<int> given;
        for (size_t k = 0; k < lives.size(); ++k) {
            if (running[k])
                given.insert(number_of(lives[k]));
        }
        ASSERT_EQ(given.size(), static_cast<size_t>(alive)) << "round " << round;
        ASSERT_FALSE(given.contains(-1));
    }
    for (size_t i = 0; i < lives.size(); ++i) {
        ASSERT_TRUE(!running[i] || lives[i].poststop());
    }
    expect_nothing_kept();
}

TEST_F(Vf, TheVfOfADeadContainerIsFree) {
    Life one = container("one", "enp1s0#0");
    Life two = container("two", "enp1s0#0");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(refusal(two).code, Code::Busy);
    fake_.world.processes.erase(one.init);
    EXPECT_TRUE(two.start());
    EXPECT_EQ(number_of(two), 0);
}

TEST_F(Vf, AnyNameOfADeviceWillDo) {
    for (const std::string name :
         {"enp1s0#2", "0000:01:00.0#2,5", "enp1s0v2", "0000:01:10.4", "enp59s0v1", "mlx5_2"}) {
        Life one = container("one", name);
        ASSERT_TRUE(one.start()) << name;
        const bool mlx = name.find("59") != std::string::npos || name.starts_with("mlx");
        EXPECT_EQ(number_of(one, mlx ? kMlx : kPf), mlx ? 1 : 2) << name;
        ASSERT_TRUE(one.poststop());
    }
}

TEST_F(Vf, PoolsChooseInTheirWay) {
    state_.config().pools = {pool({"enp1s0#1-2", "enp59s0"})};
    Life a = from_pool("a");
    Life b = from_pool("b");
    ASSERT_TRUE(a.start());
    ASSERT_TRUE(b.start());
    EXPECT_EQ(number_of(a), 1);
    EXPECT_EQ(number_of(b), 2);
    ASSERT_TRUE(b.poststop());
    state_.config().pools[0].choose = hook::Choose::Spread;
    ASSERT_TRUE(b.start());
    EXPECT_EQ(number_of(b, kMlx), 0) << "enp1s0 has one of ours already";
    ASSERT_TRUE(b.poststop());
    state_.config().pools[0].exclude = {*hook::parse_device_spec("0000:3b:00.0#0"),
                                        *hook::parse_device_spec("enp7s0")};
    ASSERT_TRUE(b.start());
    EXPECT_EQ(number_of(b, kMlx), 1);
}

TEST_F(Vf, ANumaPoolLooksAtTheContainersCpus) {
    state_.config().pools = {pool({"enp1s0", "enp59s0"}, hook::Choose::Numa)};
    fake_.world.pci.at(kPf).local_cpus = "0-3,8-11";
    fake_.world.pci.at(kMlx).local_cpus = "4-7,12-15";
    Life near_mlx = from_pool("a");
    near_mlx.cpus = "13";
    ASSERT_TRUE(near_mlx.start());
    EXPECT_EQ(number_of(near_mlx, kMlx), 0);
    Life anywhere = from_pool("b");
    ASSERT_TRUE(anywhere.start());
    EXPECT_EQ(number_of(anywhere), 0) << "in the order of the list";
}

TEST(CpuList, CommonCpus) {
    EXPECT_TRUE(hook::share_a_cpu("0-3,8", "8"));
    EXPECT_TRUE(hook::share_a_cpu("2-5", "0-2,9"));
    EXPECT_FALSE(hook::share_a_cpu("0-3,8", "4-7,9"));
    for (const char* broken : {"", "x", "3-1", "0-", "1,,2", "0-3,", "-1"}) {
        EXPECT_FALSE(hook::share_a_cpu(broken, "0-99")) << broken;
        EXPECT_FALSE(hook::share_a_cpu("0-99", broken)) << broken;
    }
}

TEST_F(Vf, NeighboursAreToldWhereItsAddressesAre) {
    Life one = container("one");
    one.annotations.merge(std::map<std::string, std::string>{{"rdma.ip", "10.9.0.1/24"}});
    ASSERT_TRUE(one.precreate());
    EXPECT_TRUE(fake_.neighbours.announced.empty()) << "it may have no carrier yet";
    ASSERT_TRUE(one.create_runtime());
    EXPECT_EQ(fake_.neighbours.announced,
              std::vector<std::string>{"10.9.0.1 at " + netns::to_string(netdev(vf(0)).mac)});
}

TEST_F(Vf, AStickyPoolGivesTheSameAgain) {
    state_.config().pools = {pool({"enp1s0"}, hook::Choose::Sticky)};
    std::set<int> given;
    for (const char* id : {"a", "b", "c", "d", "e"}) {
        Life life = from_pool(id);
        ASSERT_TRUE(life.start());
        const int first = number_of(life);
        given.insert(first);
        ASSERT_TRUE(life.poststop());
        ASSERT_TRUE(life.start());
        EXPECT_EQ(number_of(life), first);
        ASSERT_TRUE(life.poststop());
    }
    EXPECT_GT(given.size(), 1U);
}

TEST_F(Vf, APfThatIsDownDoesNotStandInTheWayOfAnother) {
    state_.config().pools = {pool({"enp1s0", "enp59s0"})};
    fake_.world.find_link(fake_.world.host, netdev(kPf).index)->link.up = false;
    Life a = from_pool("a");
    ASSERT_TRUE(a.start());
    EXPECT_EQ(number_of(a, kMlx), 0);
}

TEST_F(Vf, OnlyWhatNobodyUsesIsFree) {
    fake_.world.set_up(fake_.world.host, netdev(vf(0)).index, true);
    fake_.world.find_link(fake_.world.host, netdev(vf(1)).index)->addresses = {
        *netns::parse_cidr("10.1.1.1/24")};
    fake_.world.unbind(vf(2));
    fake_.world.unbind(vf(3));
    fake_.world.pci.at(vf(3)).driver = "vfio-pci";
    const NetnsId other = fake_.world.add_netns();
    fake_.world.engine_paths["/run/netns/other"] = other;
    fake_.world.move_link(fake_.world.host, netdev(vf(4)).index, other, 77);
    Life a = container("a", "enp1s0#0-4");
    const base::Error none = refusal(a);
    EXPECT_EQ(none.code, Code::Busy);
    for (const char* part : {"5 of 5 used",
                             "1 up on the host",
                             "1 with addresses on the host",
                             "1 without a driver",
                             "1 bound to vfio-pci",
                             "1 without a netdev on the host",
                             "; or run: ip link set enp1s0v0 down (/etc/rdma-hook/vfs-unmanaged",
                             "; or run: ip address flush dev enp1s0v1",
                             "; or bind the driver"})
        EXPECT_NE(none.message().find(part), std::string::npos) << part << none.message();
    a.annotations["rdma.device"] = "enp1s0#0-5";
    ASSERT_TRUE(a.start());
    EXPECT_EQ(number_of(a), 5);
    fake_.world.rdma.begin()->second.contexts = 0;
    for (auto& [index, device] : fake_.world.rdma)
        device.contexts = device.pci == vf(0, kMlx) ? 1 : 0;
    Life b = container("b", "enp59s0#0");
    const base::Error open = refusal(b);
    EXPECT_EQ(open.text, "VF 0 of enp59s0 (0000:3b:00.1) is open by RDMA programs");
    EXPECT_EQ(open.fix,
              "choose another VF; or end these programs: rdma resource show ctx; see rdmactl vf "
              "list");
    Life c = container("c", "enp1s0v0");
    EXPECT_NE(refusal(c).fix.find("ip link set enp1s0v0 down"), std::string::npos);
    state_.config().pools = {pool({"enp59s0"})};
    state_.config().pools[0].exclude = {*hook::parse_device_spec("enp59s0")};
    Life d = from_pool("d");
    const base::Error excluded = refusal(d);
    EXPECT_EQ(excluded.text, "no VF to choose from on enp59s0: pool vfs excludes all");
    EXPECT_EQ(excluded.fix, "correct pools.vfs.exclude in the configuration");
}

// A range is given out once, however many PFs the pool has.
TEST_F(Vf, AddressesOfAPoolOfTwoPfs) {
    state_.config().pools.push_back(pool({"enp1s0", "enp59s0"}, hook::Choose::Spread));
    state_.config().pools.back().ranges = {
        {*netns::parse_cidr("10.9.0.10/24"), *netns::parse_cidr("10.9.0.12/24")}};
    std::set<std::string> gids;
    std::set<std::string> devices;
    for (const char* id : {"a", "b", "c"}) {
        Life life = from_pool(id);
        life.annotations["rdma.ip"] = "auto";
        ASSERT_TRUE(life.start()) << id;
        gids.insert(life.environment("RDMA_GID"));
        devices.insert(life.environment("RDMA_DEVICE").substr(0, 3));
    }
    EXPECT_EQ(gids.size(), 3U);
    EXPECT_EQ(devices.size(), 2U) << "both PFs gave one";
}

TEST_F(Vf, Refusals) {
    fake_.world.unbind(vf(6));
    fake_.world.pci.at(vf(6)).driver = "vfio-pci";
    fake_.world.add_sriov("enp2s0", "0000:02:00.0", 0);

    const struct {
        const char* device;
        std::map<std::string, std::string> more;
        Code code;
        const char* says;
    } table[] = {
        {"eth0", {}, Code::Unavailable, "no PCI function, netdev or RDMA device 'eth0'"},
        {"0000:09:00.0", {}, Code::Unavailable, "'0000:09:00.0'"},
        {"enp2s0", {}, Code::Unavailable, "run: rdmactl vf enable enp2s0 COUNT (of 7)"},
        {"enp1s0#5-7", {}, Code::Unavailable, "enp1s0#5-7 names VF 7, and PF"},
        {"enp1s0v1#0", {}, Code::BadInput, "enp1s0v1 is a VF"},
        {"enp1s0#6", {}, Code::Unavailable, "VF 6 of enp1s0 (0000:01:11.4) is bound to vfio-pci"},
        {"enp1s0", {{"rdma.provider", "device"}}, Code::Refused, "has no RDMA device of its own"},
        {"enp1s0",
         {{"rdma.node_guid", "00:11:22:33:44:55:66:77"}},
         Code::Refused,
         "rdma.node_guid is for InfiniBand, and VF 0 of enp1s0 is Ethernet"},
        {"enp1s0", {{"rdma.mtu", "9000"}}, Code::BadInput, "above the 1500 of its PF enp1s0"},
        {"enp1s0", {{"rdma.link_state", "on"}}, Code::Unsupported, "set link state on VF 0"},
        {"enp1s0", {{"rdma.max_tx_rate", "2000"}}, Code::BadInput, "set rate on VF 0"},
        {"enp1s0",
         {{"rdma.trust", "on"}},
         Code::Refused,
         "\"policy\": {\"trust\": true} in the pool"},
        {"enp1s0", {{"rdma.spoofchk", "off"}}, Code::Refused, "\"spoofchk_off\": true"},
        {"enp1s0", {{"rdma.mac", "01:00:5e:10:00:01"}}, Code::BadInput, "multicast"},
    };

    int number = 0;
    for (const auto& row : table) {
        Life life = container("x" + std::to_string(number++), row.device);
        for (const auto& [key, value] : row.more)
            life.annotations[key] = value;
        const base::Error error = refusal(life);
        EXPECT_EQ(error.code, row.code) << error.message();
        EXPECT_NE(error.message().find(row.says), std::string::npos) << error.message();
        // The kernel room gives the advice for a driver's refusal.
        if (error.sys == 0) {
            EXPECT_FALSE(error.fix.empty()) << "says what to do: " << error.message();
        }
    }
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(Vf, WhatTheDriverDoesNotReportIsRefusedBeforeAnyChange) {
    fake_.world.pci.at(kPf).quirks.insert("no_trust");
    fake_.world.pci.at(vf(0)).settings.trust.reset();
    state_.config().policy = hook::Policy{};
    state_.config().policy->modes = {"vf"};
    state_.config().policy->devices = {*hook::parse_device_spec("enp1s0")};
    state_.config().policy->trust = true;
    Life life = container("x");
    life.annotations["rdma.trust"] = "on";
    const int calls = fake_.gate.mutating_calls();
    const base::Error error = refusal(life);
    EXPECT_EQ(error.code, Code::Unsupported);
    EXPECT_NE(error.message().find("driver igb of PF enp1s0 does not know rdma.trust"),
              std::string::npos)
        << error.message();
    EXPECT_GE(fake_.gate.mutating_calls(), calls);
    life.annotations["rdma.trust"] = "off";
    fake_.world.pci.at(vf(0)).settings.trust = true;
    fake_.world.pci.at(kPf).quirks.erase("no_trust");
    ASSERT_TRUE(life.start());
    EXPECT_EQ(fake_.world.pci.at(vf(0)).settings.trust, false);
}

// InfiniBand: the GID is the subnet manager's, so none is waited for.
TEST_F(Vf, AnInfinibandVfIsGivenWithoutAGid) {
    for (const uint32_t number : {0U, 1U})
        netdev(vf(number, kMlx)).ethernet = false;
    Life one = container("one", "enp59s0");
    one.annotations["rdma.ip"] = "10.9.0.1/24";
    ASSERT_TRUE(one.start());
    EXPECT_THAT(one.environment("RDMA_DEVICE"), testing::StartsWith("mlx5_"));
    EXPECT_EQ(one.environment("RDMA_GID"), "");
    ASSERT_TRUE(one.poststop());
    expect_nothing_kept();
    Life two = container("two", "enp59s0");
    two.annotations["rdma.provider"] = "siw";
    EXPECT_THAT(refusal(two).message(), testing::HasSubstr("siw cannot run over it"));
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    two.annotations.erase("rdma.provider");
    EXPECT_EQ(refusal(two).code, Code::Unsupported);
}

}  // namespace
}  // namespace test
