// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/way.h"

namespace test {

namespace {
World with_nic(Nic nic, KernelTraits kernel, netns::RdmaNetnsMode mode) {
    World world = World::standard(kernel);
    world.mode = mode;
    world.add_sriov("enp1s0", "0000:01:00.0", 2, nic);
    world.add_sriov("enp2s0", "0000:02:00.0", 2, nic);
    return world;
}

World shared(Nic nic) {
    return with_nic(nic, KernelTraits::v7_2(), netns::RdmaNetnsMode::Shared);
}

World moving(Nic nic) {
    return with_nic(nic, KernelTraits::v7_3(), netns::RdmaNetnsMode::Exclusive);
}

World with_quirk(const char* quirk, World world) {
    for (auto& [address, function] : world.pci)
        function.quirks.insert(quirk);
    return world;
}

// On a VF that was not new: what was there is what must be there again.
World with_settings(Nic nic) {
    World world = moving(nic);
    FakePci& vf = world.pci.at(world.vf_address("0000:01:00.0", 0));
    vf.settings.mac = *netns::parse_mac("02:00:00:00:11:11");
    vf.settings.vlan = netns::VfVlan{.id = 9, .qos = 1};
    vf.settings.rate = netns::VfRate{.min = 0, .max = 100};
    const auto at = *world.netdev_of(world.vf_address("0000:01:00.0", 0));
    world.set_mac(at.first, at.second, *vf.settings.mac);
    // Bound since: its node GUID is made of that MAC.
    for (auto& [index, device] : world.rdma) {
        if (device.pci == world.vf_address("0000:01:00.0", 0))
            device.device.node_guid = netns::eui64(*vf.settings.mac);
    }
    netns::Link& link = world.find_link(at.first, at.second)->link;
    link.alias = "rack 7, port 3";
    link.mtu = 1400;
    return world;
}

void add_vf_pool(hook::Config& config) {
    config.pools.push_back(
        {.name = "vfs",
         .mode = "vf",
         .is_default = true,
         .devices = {*hook::parse_device_spec("enp1s0#1"), *hook::parse_device_spec("enp2s0")},
         .choose = hook::Choose::Spread,
         .ranges = {{*netns::parse_cidr("10.9.0.10/24"), *netns::parse_cidr("10.9.0.12/24")}},
         .defaults = {{"vlan", "5"}, {"spoofchk", "on"}}});
}

using Annotations = std::map<std::string, std::string>;

Annotations on_pf(Annotations more) {
    more.insert({{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}});
    return more;
}

Way with_net_admin(Way way) {
    way.net_admin = true;
    return way;
}
}  // namespace

std::vector<Way> vf_ways() {
    const Annotations plain = on_pf({{"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}});
    const Annotations settings = on_pf({{"rdma.ip", "10.9.0.1/24"},
                                        {"rdma.vlan", "7"},
                                        {"rdma.vlan_qos", "3"},
                                        {"rdma.spoofchk", "on"},
                                        {"rdma.max_tx_rate", "500"},
                                        {"rdma.mtu", "1300"},
                                        {"rdma.mac", "02:00:5e:10:00:01"}});
    return {
        {.name = "rxe", .world = shared(Nic::Igb), .annotations = plain},
        {.name = "rxe_exclusive", .world = moving(Nic::Igb), .annotations = plain},
        {.name = "own", .world = shared(Nic::Mlx5), .annotations = plain},
        {.name = "own_exclusive", .world = moving(Nic::Mlx5), .annotations = plain},
        {.name = "own_netns", .world = moving(Nic::Mlx5), .annotations = plain, .network = ""},
        {.name = "rxe_over_own",
         .world = shared(Nic::Mlx5),
         .annotations = on_pf({{"rdma.provider", "rxe"}})},
        {.name = "settings", .world = with_settings(Nic::Igb), .annotations = settings},
        {.name = "settings_own", .world = with_settings(Nic::Mlx5), .annotations = settings},
        {.name = "mac",
         .world = shared(Nic::Igb),
         .annotations = on_pf({{"rdma.mac", "02:00:5e:10:00:01"}})},
        {.name = "own_mac_exclusive_slow",
         .world = with_quirk("late_rdma", moving(Nic::Mlx5)),
         .annotations = on_pf({{"rdma.mac", "02:00:5e:10:00:01"}})},
        {.name = "own_mac_stale_gid_unlisted",
         .world = with_quirk("unlisted_rdma", with_quirk("stale_gid", shared(Nic::Mlx5))),
         .annotations = on_pf({{"rdma.mac", "02:00:5e:10:00:01"}})},
        with_net_admin({.name = "net_admin", .world = shared(Nic::Igb), .annotations = plain}),
        with_net_admin({.name = "own_net_admin_exclusive_slow",
                        .world = with_quirk("late_rdma", moving(Nic::Mlx5)),
                        .annotations = plain}),
        {.name = "siw",
         .world = with_nic(Nic::Igb, KernelTraits::v6_12(), netns::RdmaNetnsMode::Shared),
         .annotations = on_pf({{"rdma.provider", "siw"}, {"rdma.ip", "10.9.0.1/24"}})},
        {.name = "from_pool",
         .world = shared(Nic::Igb),
         .annotations = {{"rdma.mode", "vf"}},
         .network = World::kContainerPath,
         .configure = add_vf_pool},
        {.name = "two_rails",
         .world = moving(Nic::Mlx5),
         .annotations = {{"rdma.0.mode", "vf"},
                         {"rdma.0.device", "enp1s0"},
                         {"rdma.0.ip", "10.9.0.1/24"},
                         {"rdma.1.mode", "vf"},
                         {"rdma.1.device", "0000:02:00.0#1"},
                         {"rdma.1.ip", "10.9.1.1/24"}}},
        {.name = "refused_old_kernel",
         .world = with_nic(Nic::Igb, KernelTraits::v6_12(), netns::RdmaNetnsMode::Shared),
         .annotations = plain,
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
        {.name = "refused_exclusive_rxe",
         .world = with_nic(Nic::Igb, KernelTraits::v7_2(), netns::RdmaNetnsMode::Exclusive),
         .annotations = plain,
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
    };
}

}  // namespace test
