// SPDX-License-Identifier: Apache-2.0
// The fake of netns/ovs.h. Codes and errno values are the real room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using netns::OvsBridge;
using netns::OvsChange;
using netns::OvsMap;
using netns::OvsPort;
using netns::OvsPortSpec;

namespace {
constexpr uint16_t kLastTag = 4095;

bool includes(const OvsMap& marks, const OvsMap& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& mark) {
        const auto found = marks.find(mark.first);
        return found != marks.end() && found->second == mark.second;
    });
}

void write_keys(OvsMap& map, const OvsChange& change) {
    for (const auto& [key, value] : change) {
        if (value)
            map[key] = *value;
        else
            map.erase(key);
    }
}

// Returns all ports, with the bridges' own, which World does not list.
std::vector<OvsPort> all_ports(const FakeOvs& ovs) {
    std::vector<OvsPort> all;
    for (const auto& [name, port] : ovs.ports)
        all.push_back(port);
    for (const auto& [name, bridge] : ovs.bridges) {
        OvsPort own;
        own.name = own.bridge = name;
        all.push_back(std::move(own));
    }
    std::ranges::sort(all, {}, &OvsPort::name);
    return all;
}

bool host_has_netdev(const World& world, const std::string& name) {
    return std::ranges::any_of(world.namespaces.at(world.host).links,
                               [&](const auto& link) { return link.second.link.name == name; });
}

Result<> no_marks(const std::string& what) {
    return make_error(Code::Internal, what + ": without marks it would be anybody's");
}

base::Error port_taken(const std::string& name) {
    return coded(
        Code::Busy, EEXIST, "Open vSwitch has a port or an interface " + name + " already");
}

base::Error unusable(const std::string& name, const std::string& words) {
    return make_error(Code::Unavailable, "ovs-vswitchd cannot use " + name + ": " + words);
}
}  // namespace

Result<> FakeOvsRoom::reach() const {
    const std::string where = netns::kOvsSocket;
    if (!world_.ovs.installed)
        return coded(Code::Unavailable, ENOENT, "Open vSwitch has no database at " + where);
    if (!world_.ovs.server)
        return coded(Code::Unavailable,
                     ECONNREFUSED,
                     "the database of Open vSwitch at " + where + " is off");
    return {};
}

Result<> FakeOvsRoom::applied() const {
    if (world_.ovs.daemon)
        return {};
    return make_error(Code::Timeout, "ovs-vswitchd has not applied the change");
}

Result<bool> FakeOvsRoom::present() {
    return world_.ovs.installed;
}

Result<netns::OvsSettings> FakeOvsRoom::settings(Deadline /*deadline*/) {
    TRY(reach());
    return world_.ovs.settings;
}

Result<> FakeOvsRoom::configure(const OvsChange& other_config,
                                const OvsChange& marks,
                                Deadline /*deadline*/) {
    return gate_.pass<void>("configure Open vSwitch", [&]() -> Result<> {
        TRY(reach());
        write_keys(world_.ovs.settings.other_config, other_config);
        write_keys(world_.ovs.settings.marks, marks);
        return applied();
    });
}

Result<std::optional<OvsBridge>> FakeOvsRoom::find_bridge(const std::string& name,
                                                          Deadline /*deadline*/) {
    TRY(reach());
    const auto found = world_.ovs.bridges.find(name);
    if (found == world_.ovs.bridges.end())
        return std::optional<OvsBridge>{};
    OvsBridge bridge = found->second;
    bridge.ports =
        1 + static_cast<size_t>(std::ranges::count_if(
                world_.ovs.ports, [&](const auto& port) { return port.second.bridge == name; }));
    return std::optional<OvsBridge>{std::move(bridge)};
}

Result<netns::OvsView> FakeOvsRoom::view(const std::string& bridge, Deadline deadline) {
    return netns::OvsView{.settings = TRY(settings(deadline)),
                          .bridge = TRY(find_bridge(bridge, deadline))};
}

Result<> FakeOvsRoom::add_bridge(const std::string& name,
                                 const OvsMap& marks,
                                 Deadline /*deadline*/) {
    return gate_.pass<void>("add bridge " + name, [&]() -> Result<> {
        TRY(reach());
        if (world_.ovs.bridges.contains(name) || world_.ovs.ports.contains(name))
            return port_taken(name);
        world_.ovs.bridges[name] = {.name = name, .ports = 0, .tunnels = false, .marks = marks};
        TRY(applied());
        if (host_has_netdev(world_, name))
            return unusable(name, "could not add network device " + name + " (File exists)");
        netns::Link own;
        own.name = name;
        own.kind = "openvswitch";
        own.mtu = 1500;
        world_.add_link(world_.host, own);
        return {};
    });
}

Result<> FakeOvsRoom::remove_bridge(const std::string& name,
                                    const OvsMap& marks,
                                    Deadline /*deadline*/) {
    return gate_.pass<void>("remove bridge " + name, [&]() -> Result<> {
        if (marks.empty())
            return no_marks("remove bridge " + name);
        TRY(reach());
        const auto found = world_.ovs.bridges.find(name);
        if (found == world_.ovs.bridges.end() || !includes(found->second.marks, marks))
            return {};
        world_.ovs.bridges.erase(found);
        for (const auto& [index, link] : world_.namespaces.at(world_.host).links) {
            if (link.link.name == name && link.link.kind == "openvswitch") {
                world_.destroy_link(world_.host, index);
                break;
            }
        }
        std::erase_if(world_.ovs.ports,
                      [&](const auto& port) { return port.second.bridge == name; });
        return {};
    });
}

Result<std::optional<OvsPort>> FakeOvsRoom::find_port(const std::string& name,
                                                      Deadline /*deadline*/) {
    TRY(reach());
    for (OvsPort& port : all_ports(world_.ovs)) {
        if (port.name == name)
            return std::optional<OvsPort>{std::move(port)};
    }
    return std::optional<OvsPort>{};
}

Result<std::vector<OvsPort>> FakeOvsRoom::list_ports(const OvsMap& marks, Deadline /*deadline*/) {
    TRY(reach());
    std::vector<OvsPort> ports = all_ports(world_.ovs);
    std::erase_if(ports, [&](const OvsPort& port) { return !includes(port.marks, marks); });
    return ports;
}

Result<> FakeOvsRoom::add_port(const OvsPortSpec& spec, Deadline /*deadline*/) {
    const std::string what = "add port " + spec.name + " to bridge " + spec.bridge;
    return gate_.pass<void>(what, [&]() -> Result<> {
        TRY(reach());
        if (!world_.ovs.bridges.contains(spec.bridge))
            return make_error(Code::Unavailable, "Open vSwitch has no bridge " + spec.bridge);
        const auto wrong = [](uint16_t tag) { return tag > kLastTag; };
        if (wrong(spec.tag.value_or(0)) || std::ranges::any_of(spec.trunks, wrong))
            return make_error(Code::Refused, what + ": constraint violation");
        if (world_.ovs.bridges.contains(spec.name) || world_.ovs.ports.contains(spec.name))
            return port_taken(spec.name);
        OvsPort& port = world_.ovs.ports[spec.name];
        port.name = spec.name;
        port.bridge = spec.bridge;
        port.tag = spec.tag;
        port.trunks = spec.trunks;
        std::ranges::sort(port.trunks);
        port.policing_kbps = spec.policing_kbps;
        port.marks = spec.marks;
        TRY(applied());
        if (host_has_netdev(world_, spec.name))
            return {};
        port.error = "could not open network device " + spec.name + " (No such device)";
        return unusable(spec.name, port.error);
    });
}

Result<> FakeOvsRoom::remove_ports(const OvsMap& marks, Deadline /*deadline*/) {
    return gate_.pass<void>("remove marked ports", [&]() -> Result<> {
        if (marks.empty())
            return no_marks("remove ports");
        TRY(reach());
        std::erase_if(world_.ovs.ports,
                      [&](const auto& port) { return includes(port.second.marks, marks); });
        return {};
    });
}

}  // namespace test
