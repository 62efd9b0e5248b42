// SPDX-License-Identifier: Apache-2.0
// E-switches of the World, and their representors.
#include <algorithm>
#include <functional>

#include "tests/fakes/world.h"

namespace test {

using netns::DevlinkPort;
using netns::EswitchMode;
using netns::PortFlavour;

namespace {
constexpr char kPciBus[] = "pci/";

// Returns the device's part of a handle.
std::string device_of(const std::string& handle) {
    return handle.substr(handle.find('/') + 1);
}

// Returns the port's own MAC, so that worlds compare; a driver gives a representor a random one.
netns::Mac representor_mac(const std::string& handle, const std::string& port) {
    const size_t hash = std::hash<std::string>{}(handle + port);
    return {{0x02, 0xfa, 0x4e, 0x01, static_cast<uint8_t>(hash >> 8U), static_cast<uint8_t>(hash)}};
}

std::string first_free_name(const FakeNetns& ns) {
    uint32_t number = 0;
    while (name_taken(ns, "eth" + std::to_string(number)))
        ++number;
    return "eth" + std::to_string(number);
}

void add_representor(World& world, const std::string& handle, const std::string& port) {
    if (world.representor(handle, port) != 0)
        return;
    netns::Link link;
    link.name = first_free_name(world.namespaces[world.host]);
    link.mac = representor_mac(handle, port);
    link.mtu = 1500;
    link.device = device_of(handle);
    FakeLink& added = *world.find_link(world.host, world.add_link(world.host, link));
    added.port = port;
    added.tc_feature = {.on = true, .fixed = false};
}
}  // namespace

bool is_representor(const FakeLink& link) {
    return link.port.starts_with("pf") || link.port.starts_with("c");
}

void World::add_eswitch(const std::string& handle, uint32_t uplink, uint32_t vfs) {
    FakeEswitch& added = eswitches[handle];
    added.ports = {{.index = 0, .flavour = PortFlavour::Physical, .name = "p0", .netdev = uplink}};
    find_link(host, uplink)->tc_feature = {.on = false, .fixed = false};
    find_link(host, uplink)->port = "p0";
    const auto function = pci.find(device_of(handle));
    const bool is_pf = handle.starts_with(kPciBus) && function != pci.end();
    set_eswitch_vfs(handle, is_pf ? function->second.num_vfs : vfs);
}

void World::set_eswitch_vfs(const std::string& handle, uint32_t vfs) {
    const auto found = eswitches.find(handle);
    if (found == eswitches.end())
        return;
    std::vector<DevlinkPort>& ports = found->second.ports;
    for (; ports.size() > vfs + 1; ports.pop_back())
        destroy_link(host, representor(handle, ports.back().name));
    while (ports.size() < vfs + 1) {
        const auto index = static_cast<uint32_t>(ports.size());
        const std::string name = "pf0vf" + std::to_string(index - 1);
        ports.push_back({.index = index, .flavour = PortFlavour::PciVf, .name = name, .netdev = 0});
    }
    set_eswitch_mode(handle, found->second.eswitch.mode);
}

void World::set_eswitch_mode(const std::string& handle, EswitchMode wanted) {
    FakeEswitch& changed = eswitches.at(handle);
    changed.eswitch.mode = wanted;
    for (const auto& port : changed.ports) {
        if (port.flavour == PortFlavour::Physical)
            continue;
        if (wanted == EswitchMode::Switchdev)
            add_representor(*this, handle, port.name);
        else
            destroy_link(host, representor(handle, port.name));
    }
}

uint32_t World::representor(const std::string& handle, const std::string& port) const {
    const auto& links = namespaces.at(host).links;
    const auto found = std::find_if(links.begin(), links.end(), [&](const auto& entry) {
        const FakeLink& link = entry.second;
        return is_representor(link) && link.port == port && link.link.device == device_of(handle);
    });
    return found == links.end() ? 0 : found->first;
}

}  // namespace test
