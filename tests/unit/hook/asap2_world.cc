// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/asap2_world.h"

namespace test {

namespace {
void add_bridge(World& world, const std::string& uplink, bool offload) {
    world.ovs.installed = true;
    world.ovs.settings.version = "3.5.0";
    if (offload)
        world.ovs.settings.other_config["hw-offload"] = "true";
    world.ovs.bridges["br0"] = {.name = "br0", .ports = 0, .tunnels = false, .marks = {}};
    world.ovs.ports[uplink].name = uplink;
    world.ovs.ports[uplink].bridge = "br0";
    netns::Link own;
    own.name = "br0";
    own.kind = "openvswitch";
    own.mtu = 1500;
    world.add_link(world.host, own);
}

// A netdevsim with one netdev.
uint32_t add_netdevsim(World& world, const std::string& id) {
    FakePci function;
    function.driver = function.driver_default = "netdevsim";
    world.pci["netdevsim/netdevsim" + id] = function;
    netns::Link link;
    link.name = "eni" + id + "np1";
    link.kind = "netdevsim";
    link.mac = {{0x02, 0, 0, 0, 0x51, static_cast<uint8_t>(std::stoul(id))}};
    link.mtu = 1500;
    link.device = "netdevsim" + id;
    return world.add_link(world.host, link);
}
}  // namespace

World switchdev_world(Nic nic, bool offload) {
    World world = World::standard(KernelTraits::v7_3());
    world.add_sriov("enp1s0", "0000:01:00.0", 2, nic);
    world.add_eswitch(kEswitch, world.netdev_of("0000:01:00.0")->second, 2);
    world.set_eswitch_mode(kEswitch, netns::EswitchMode::Switchdev);
    add_bridge(world, "enp1s0", offload);
    return world;
}

World mapped_world() {
    World world = World::standard(KernelTraits::v7_3());
    const uint32_t uplink = add_netdevsim(world, "1");
    world.set_up(world.host, uplink, true);
    world.add_eswitch("netdevsim/netdevsim1", uplink, 2);
    world.set_eswitch_mode("netdevsim/netdevsim1", netns::EswitchMode::Switchdev);
    add_netdevsim(world, "11");
    add_netdevsim(world, "12");
    add_bridge(world, "eni1np1", true);
    return world;
}

void add_mapped_pool(hook::Config& config) {
    hook::Pool pool;
    pool.name = "sim";
    pool.mode = "asap2";
    pool.is_default = true;
    pool.bridge = "br0";
    pool.functions = {{"netdevsim/netdevsim11", "netdevsim/netdevsim1", "pf0vf0"},
                      {"netdevsim/netdevsim12", "netdevsim/netdevsim1", "pf0vf1"}};
    config.pools.push_back(std::move(pool));
}

World with_foreign_port(World world) {
    const uint32_t index = world.representor(kEswitch, "pf0vf0");
    const std::string name = world.find_link(world.host, index)->link.name;
    world.ovs.ports[name].name = name;
    world.ovs.ports[name].bridge = "br0";
    world.ovs.ports[name].marks = {{"owner", "somebody"}};
    return world;
}

World without_daemon(World world) {
    world.ovs.daemon = false;
    return world;
}

}  // namespace test
