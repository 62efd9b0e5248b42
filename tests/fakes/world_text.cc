// SPDX-License-Identifier: Apache-2.0
// The World as lines of text, one thing a line, for the output of failed tests.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "tests/fakes/world.h"

namespace test {

namespace {
std::string name_of(const World& world, const NetnsId& id) {
    return id == world.host ? "host" : "netns " + std::to_string(id.ino);
}

std::string text_of(const netns::Link& link) {
    std::ostringstream out;
    out << "link " << link.index << " " << link.name;
    if (!link.kind.empty())
        out << " kind " << link.kind << " on " << link.parent;
    out << " mac " << netns::to_string(link.mac) << " mtu " << link.mtu
        << (link.up ? " up" : " down");
    if (!link.device.empty())
        out << " of " << link.device;
    if (!link.alias.empty())
        out << " alias " << link.alias;
    for (const auto& name : link.altnames)
        out << " altname " << name;
    return out.str();
}

// Lists a link's state for tc, and as a representor; most have none.
void list_offload(const std::string& name, const FakeLink& link, std::ostream& out) {
    if (!link.port.empty())
        out << name << "port " << link.port << "\n";
    if (!link.tc_feature.fixed || link.tc_feature.on)
        out << name << "tc offload " << (link.tc_feature.on ? "on" : "off")
            << (link.tc_feature.fixed ? " fixed" : "") << "\n";
    const netns::TcRules& rules = link.tc_rules;
    if (rules != netns::TcRules{})
        out << name << "tc rules " << rules.rules << " in hardware " << rules.in_hw << " skip_sw "
            << rules.skip_sw << " packets " << rules.packets << " in hardware " << rules.hw_packets
            << "\n";
}

void list_netns(const World& world, const NetnsId& id, const FakeNetns& ns, std::ostream& out) {
    const std::string name = name_of(world, id);
    out << name << (ns.open_connection ? " with an open connection" : "")
        << (ns.foreign_4791 ? " with a stranger on 4791" : "")
        << (ns.in_our_hands ? " in our hands" : "");
    if (ns.default_route)
        out << " default route by link " << *ns.default_route;
    out << "\n";
    for (const auto& [index, link] : ns.links) {
        out << name << ": " << text_of(link.link) << (link.link.promiscuous ? " promiscuous" : "")
            << (link.receive_rules != 0 ? " with receive rules" : "") << "\n";
        list_offload(name + ": link " + std::to_string(index) + " ", link, out);
        for (const auto& address : link.addresses)
            out << name << ": link " << index << " address " << netns::to_string(address) << "\n";
    }
    for (const auto& route : ns.routes)
        out << name << ": route "
            << (route.destination ? netns::to_string(*route.destination) : "default") << " on link "
            << route.link << " in table " << route.table << "\n";
    for (const auto& rule : ns.rules)
        out << name << ": rule from " << netns::ip_string(rule.source) << " to table " << rule.table
            << "\n";
}

void list_rdma(const World& world, const FakeRdma& device, std::ostream& out) {
    const std::string name =
        "rdma " + std::to_string(device.device.index) + " " + device.device.name;
    out << name << " type " << device.type << " of " << name_of(world, device.owner) << " on link "
        << device.netdev << " in " << name_of(world, device.netdev_ns) << " " << device.uverbs.name
        << " users " << device.contexts << (device.gsi_qp ? "" : " without GSI QP") << "\n";
    for (const auto& entry : device.gids)
        out << name << ": gid " << entry.index << " " << netns::to_string(entry.gid) << " of link "
            << entry.netdev << " in " << name_of(world, entry.ns) << "\n";
}

template <class T>
std::string number_of(const std::optional<T>& value) {
    return value ? std::to_string(static_cast<uint64_t>(*value)) : "-";
}

void list_pci(const std::string& address, const FakePci& function, std::ostream& out) {
    const std::string name = "pci " + address;
    out << name << " driver " << (function.driver.empty() ? "none" : function.driver);
    if (function.pf.empty()) {
        out << " VFs " << function.num_vfs << " of " << function.total_vfs
            << (function.autoprobe ? "" : ", not probed") << "\n";
        return;
    }
    out << " VF " << function.number << " of " << function.pf << "\n";
    const netns::VfSettings& set = function.settings;
    out << name << ": mac " << (set.mac ? netns::to_string(*set.mac) : "-");
    if (set.vlan)
        out << " vlan " << set.vlan->id << " qos " << uint32_t{set.vlan->qos} << " protocol "
            << static_cast<int>(set.vlan->protocol);
    if (set.rate)
        out << " rate " << set.rate->min << "-" << set.rate->max;
    out << " spoofchk " << number_of(set.spoofchk) << " trust " << number_of(set.trust)
        << " link state " << number_of(set.link_state) << " node GUID " << number_of(set.node_guid)
        << " port GUID " << number_of(set.port_guid) << "\n";
}

void list_eswitch(const std::string& handle, const FakeEswitch& device, std::ostream& out) {
    const std::string name = "eswitch " + handle;
    const bool switchdev = device.eswitch.mode == netns::EswitchMode::Switchdev;
    out << name << " mode " << (switchdev ? "switchdev" : "legacy") << " inline mode "
        << number_of(device.eswitch.inline_mode) << (device.busy ? " busy" : "") << "\n";
    for (const auto& port : device.ports)
        out << name << ": port " << port.index << " " << port.name << " flavour "
            << static_cast<int>(port.flavour) << " link " << port.netdev << "\n";
}

void list_map(const netns::OvsMap& map, const std::string& what, std::ostream& out) {
    for (const auto& [key, value] : map)
        out << what << " " << key << "=" << value << "\n";
}

void list_ovs(const FakeOvs& ovs, std::ostream& out) {
    if (!ovs.installed)
        return;
    out << "ovs" << (ovs.server ? "" : " without server") << (ovs.daemon ? "" : " without daemon")
        << " version " << ovs.settings.version << "\n";
    list_map(ovs.settings.other_config, "ovs other_config", out);
    list_map(ovs.settings.marks, "ovs external_ids", out);
    for (const auto& [name, bridge] : ovs.bridges) {
        out << "ovs bridge " << name << "\n";
        list_map(bridge.marks, "ovs bridge " + name + " external_ids", out);
    }
    for (const auto& [name, port] : ovs.ports) {
        out << "ovs port " << name << " of " << port.bridge << " tag " << number_of(port.tag)
            << " trunks";
        for (const uint16_t vlan : port.trunks)
            out << " " << vlan;
        out << " policing " << port.policing_kbps << (port.error.empty() ? "" : " error ")
            << port.error << "\n";
        list_map(port.marks, "ovs port " + name + " external_ids", out);
    }
}

std::vector<std::string> lines_of(const World& world) {
    std::istringstream in(to_string(world));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}
}  // namespace

std::string to_string(const World& world) {
    std::ostringstream out;
    out << "rdma netns mode "
        << (world.mode == netns::RdmaNetnsMode::Shared ? "shared" : "exclusive") << "\n";
    for (const auto& [id, ns] : world.namespaces)
        list_netns(world, id, ns, out);
    for (const auto& [index, device] : world.rdma)
        list_rdma(world, device, out);
    for (const auto& [address, function] : world.pci)
        list_pci(address, function, out);
    for (const auto& [handle, device] : world.eswitches)
        list_eswitch(handle, device, out);
    list_ovs(world.ovs, out);
    for (const auto& [path, id] : world.pins)
        out << "pin " << path << " of " << name_of(world, id) << "\n";
    for (const auto& [path, id] : world.engine_paths)
        out << "engine's path " << path << " of " << name_of(world, id) << "\n";
    for (const auto& [pid, process] : world.processes) {
        out << "process " << pid << " started " << process.start << " in "
            << name_of(world, process.ns) << (process.zombie ? " zombie" : "")
            << (process.rdma_max.empty() ? "" : " limited");
        for (const std::string& device : process.devices)
            out << " may open " << device;
        for (const std::string& place : process.placed)
            out << " has " << place;
        out << " memlock " << process.memlock.soft << "/" << process.memlock.hard << "\n";
    }
    for (const auto& path : world.files)
        out << "path " << path << "\n";
    return out.str();
}

void PrintTo(const World& world, std::ostream* out) {
    *out << "\n" << to_string(world);
}

std::string difference(const World& before, const World& after) {
    const auto [first, second] = comparable(before, after);
    const auto was = lines_of(first);
    const auto is = lines_of(second);
    std::vector<std::string> gone;
    std::vector<std::string> added;
    std::set_difference(was.begin(), was.end(), is.begin(), is.end(), std::back_inserter(gone));
    std::set_difference(is.begin(), is.end(), was.begin(), was.end(), std::back_inserter(added));
    std::string out;
    for (const auto& line : gone)
        out += "- " + line + "\n";
    for (const auto& line : added)
        out += "+ " + line + "\n";
    return out;
}

}  // namespace test
