// SPDX-License-Identifier: Apache-2.0
// PCI functions of the World, and links that move.
#include <algorithm>
#include <cstdio>

#include "tests/fakes/adapters.h"
#include "tests/fakes/world.h"

namespace test {

namespace {
// Domain and routing id (bus, device, function: 16 bits) of "0000:01:10.0".
struct RoutingId {
    unsigned domain = 0;
    unsigned id = 0;
};

RoutingId parse_route(const std::string& address) {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned function = 0;
    (void)std::sscanf(address.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function);
    return {domain, bus << 8U | device << 3U | function};
}

std::string to_address(const RoutingId& route) {
    char text[32];
    (void)std::snprintf(text,
                        sizeof text,
                        "%04x:%02x:%02x.%x",
                        route.domain,
                        route.id >> 8U,
                        route.id >> 3U & 0x1fU,
                        route.id & 7U);
    return text;
}

// Returns the MAC of a function before anybody sets one.
netns::Mac factory_mac(const std::string& address) {
    const unsigned id = parse_route(address).id;
    return {{0x02, 0xfa, 0x4e, 0x00, static_cast<uint8_t>(id >> 8U), static_cast<uint8_t>(id)}};
}

// Returns the driver's report of a VF that nobody has configured.
netns::VfSettings fresh_settings(const FakePci& pf) {
    const auto has = [&](const char* refusal) { return !pf.quirks.contains(refusal); };
    netns::VfSettings fresh;
    if (pf.ethernet) {
        fresh.mac = netns::Mac{};
        fresh.vlan = netns::VfVlan{};
        fresh.rate = netns::VfRate{};
    }
    // The kernel reports a link state even if the driver has none.
    fresh.link_state = has("down_by_policy") ? netns::VfLinkState::Auto : netns::VfLinkState::Off;
    if (has("no_spoofchk"))
        fresh.spoofchk = true;
    if (has("no_trust"))
        fresh.trust = false;
    if (has("no_guid")) {
        fresh.node_guid = 0;
        fresh.port_guid = 0;
    }
    return fresh;
}

// Returns "eth0", or the next name that is free.
std::string free_name(const FakeNetns& ns) {
    for (uint32_t number = 0;; ++number) {
        std::string name = "eth" + std::to_string(number);
        if (!name_taken(ns, name))
            return name;
    }
}

std::string free_rdma_name(const World& world, const std::string& type) {
    for (uint32_t number = 0;; ++number) {
        std::string name = type + "_" + std::to_string(number);
        const auto taken = [&](const auto& entry) { return entry.second.device.name == name; };
        if (std::none_of(world.rdma.begin(), world.rdma.end(), taken))
            return name;
    }
}

// Gives a link of the namespace another index in every place that names it.
void renumber_link(World& world, NetnsId ns, uint32_t index, uint32_t other) {
    auto node = world.namespaces[ns].links.extract(index);
    node.key() = other;
    node.mapped().link.index = other;
    world.namespaces[ns].links.insert(std::move(node));
    if (world.namespaces[ns].default_route == index)
        world.namespaces[ns].default_route = other;
    for (auto& [id, space] : world.namespaces) {
        for (auto& [upper_index, upper] : space.links) {
            if (ns == world.host && is_child(upper) && upper.link.parent == index)
                upper.link.parent = other;
        }
    }
    for (auto& [device_index, device] : world.rdma) {
        if (device.netdev_ns == ns && device.netdev == index)
            device.netdev = other;
        for (auto& entry : device.gids) {
            if (entry.ns == ns && entry.netdev == index)
                entry.netdev = other;
        }
    }
}

// Gives the links and devices of a function indexes that depend on nothing but the function.
void renumber(World& world, const std::string& address) {
    constexpr uint32_t kAside = 0x70000000;
    const uint32_t number = kAside + parse_route(address).id;
    if (const auto netdev = world.netdev_of(address))
        renumber_link(world, netdev->first, netdev->second, number);
    const auto owned = [&](const auto& entry) { return entry.second.pci == address; };
    const auto device = std::find_if(world.rdma.begin(), world.rdma.end(), owned);
    if (device == world.rdma.end())
        return;
    auto node = world.rdma.extract(device);
    node.key() = number;
    node.mapped().device.index = number;
    world.rdma.insert(std::move(node));
}

std::vector<std::string> bound_anew(const World& a, const World& b) {
    std::vector<std::string> all;
    for (const auto& [address, function] : a.pci) {
        const auto other = b.pci.find(address);
        if (other != b.pci.end() && other->second.bound.next != function.bound.next)
            all.push_back(address);
    }
    return all;
}
}  // namespace

bool name_taken(const FakeNetns& ns, const std::string& name) {
    return std::any_of(ns.links.begin(), ns.links.end(), [&](const auto& entry) {
        const auto& others = entry.second.link.altnames;
        return entry.second.link.name == name ||
               std::find(others.begin(), others.end(), name) != others.end();
    });
}

std::pair<World, World> comparable(const World& a, const World& b) {
    std::pair<World, World> both{a, b};
    for (const auto& address : bound_anew(a, b)) {
        renumber(both.first, address);
        renumber(both.second, address);
    }
    return both;
}

bool World::operator==(const World& other) const {
    const WorldState& ours = *this;
    const WorldState& theirs = other;
    if (bound_anew(*this, other).empty())
        return ours == theirs;
    const auto [first, second] = comparable(*this, other);
    return static_cast<const WorldState&>(first) == static_cast<const WorldState&>(second);
}

bool World::is_exactly(const World& other) const {
    const auto unseen = [](const World& world) {
        std::vector<bool> values;
        for (const auto& [index, device] : world.rdma) {
            for (const Unseen* value : {&device.comes_up, &device.deaf, &device.unlisted})
                values.push_back(value->value);
        }
        for (const auto& [address, function] : world.pci) {
            values.push_back(function.mac_given.value);
            values.push_back(function.in_reset.value);
        }
        return values;
    };
    return *this == other && unseen(*this) == unseen(other);
}

void World::add_sriov(const std::string& name,
                      const std::string& address,
                      uint32_t count,
                      Nic nic) {
    const Adapter& row = adapter(nic);
    FakePci function;
    function.total_vfs = row.quirks.contains("no_sriov") ? 0 : std::max(count, 7U);
    function.own_mac = factory_mac(address);
    function.numa_node = row.numa_node;
    function.driver_default = row.driver;
    function.vf_driver = row.vf_driver;
    function.rdma_type = row.rdma_type;
    function.vf_rdma_type = row.vf_rdma ? row.rdma_type : "";
    function.ethernet = row.ethernet;
    function.mbits = row.mbits;
    function.vf_offset = row.vf_offset;
    function.vf_stride = row.vf_stride;
    function.quirks = row.quirks;
    pci[address] = function;
    const auto named = [this](const std::string& of, const std::string& wanted) {
        const auto netdev = netdev_of(of);
        find_link(netdev->first, netdev->second)->link.name = wanted;
    };
    bind(address);
    if (row.quirks.contains("no_netdev"))
        return;
    named(address, name);
    const auto netdev = netdev_of(address);
    set_up(netdev->first, netdev->second, true);
    if (function.total_vfs == 0)
        return;
    set_num_vfs(address, count);
    for (uint32_t number = 0; number < count; ++number) {
        const std::string vf = vf_address(address, number);
        register_netdev(vf);
        named(vf, name + "v" + std::to_string(number));
    }
    for (auto& [index, device] : rdma)
        device.deaf.value = false;  // long ago
}

void World::name_by_udev(const std::string& address) {
    const auto vf = pci.find(address);
    const auto netdev = netdev_of(address);
    if (!netdev || netdev->first != host || vf == pci.end() || vf->second.pf.empty() ||
        !pci.at(vf->second.pf).quirks.contains("udev"))
        return;
    const auto pf = netdev_of(vf->second.pf);
    find_link(netdev->first, netdev->second)->link.name =
        find_link(pf->first, pf->second)->link.name + "v" + std::to_string(vf->second.number);
}

std::string World::vf_address(const std::string& pf, uint32_t number) const {
    const FakePci& function = pci.at(pf);
    RoutingId route = parse_route(pf);
    route.id += function.vf_offset + number * function.vf_stride;
    return to_address(route);
}

void World::set_num_vfs(const std::string& pf, uint32_t count) {
    FakePci& function = pci.at(pf);
    for (uint32_t number = count; number < function.num_vfs; ++number) {
        const std::string address = vf_address(pf, number);
        unbind(address);
        pci.erase(address);
    }
    for (uint32_t number = function.num_vfs; number < count; ++number) {
        const std::string address = vf_address(pf, number);
        FakePci vf;
        vf.driver_default = function.vf_driver;
        vf.pf = pf;
        vf.number = number;
        vf.own_mac = factory_mac(address);
        vf.settings = fresh_settings(function);
        vf.rdma_type = function.vf_rdma_type;
        vf.ethernet = function.ethernet;
        pci[address] = vf;
        if (function.autoprobe)
            bind(address);
    }
    function.num_vfs = count;
    set_eswitch_vfs("pci/" + pf, count);
}

std::optional<std::pair<NetnsId, uint32_t>> World::netdev_of(const std::string& address) const {
    for (const auto& [id, ns] : namespaces) {
        for (const auto& [index, link] : ns.links) {
            if (!address.empty() && link.link.device == netns::device_of(address) &&
                !is_representor(link))
                return std::pair{id, index};
        }
    }
    return std::nullopt;
}

bool World::has_quirk(const std::string& address, const std::string& quirk) const {
    const auto found = pci.find(address);
    if (found == pci.end())
        return false;
    const std::string& pf = found->second.pf;
    return (pf.empty() ? found->second : pci.at(pf)).quirks.contains(quirk);
}

bool World::makes_no_netdev(const std::string& address) const {
    return has_quirk(address, "no_netdev") || has_quirk(address, "no_ipoib");
}

void World::reset_by_pf(const std::string& vf) {
    pci.at(vf).in_reset.value = has_quirk(vf, "busy_after_setting");
}

bool World::out_of_reset(const std::string& address, base::Deadline deadline) {
    const auto found = pci.find(address);
    if (found != pci.end() && !deadline.passed())
        found->second.in_reset.value = false;
    return found == pci.end() || !found->second.in_reset.value;
}

void World::bind(const std::string& address) {
    FakePci& function = pci.at(address);
    function.driver = function.driver_default;
    function.bound.next = binds.next++;
    if (!function.pf.empty() && pci.at(function.pf).quirks.contains("reports_own_mac") &&
        !function.mac_given.value)
        function.settings.mac = function.own_mac;
    if (!function.pf.empty())
        reset_by_pf(address);
    if (function.pf.empty() || !has_quirk(address, "late_netdev"))
        register_netdev(address);
}

void World::register_netdev(const std::string& address) {
    const auto found = pci.find(address);
    if (found == pci.end() || found->second.driver.empty() || netdev_of(address))
        return;
    const FakePci& function = found->second;
    if (!function.pf.empty() && has_quirk(address, "dead_netdev"))
        return;
    const auto& given = function.settings.mac;
    netns::Link link;
    link.name = free_name(namespaces[host]);
    link.ethernet = function.ethernet;
    if (link.ethernet)
        link.mac = given && !given->is_zero() ? *given : function.own_mac;
    link.mtu = 1500;
    link.device = address;
    link.up = !function.pf.empty() && has_quirk(address, "manager");
    if (!makes_no_netdev(address))
        add_link(host, link);
    if (function.pf.empty() || !has_quirk(address, "late_rdma"))
        register_rdma(address);
}

void World::register_rdma(const std::string& address) {
    const auto found = pci.find(address);
    if (found == pci.end() || found->second.driver.empty() || found->second.rdma_type.empty())
        return;
    const FakePci& function = found->second;
    const bool there =
        std::ranges::any_of(rdma, [&](const auto& entry) { return entry.second.pci == address; });
    const auto netdev = netdev_of(address);
    const bool without = makes_no_netdev(address);
    if (there || (!netdev && !without))
        return;
    const uint32_t index = without ? 0 : netdev->second;
    const uint32_t device =
        add_rdma(host, index, free_rdma_name(*this, function.rdma_type), function.rdma_type);
    rdma[device].pci = address;
    rdma[device].unlisted.value = !function.pf.empty() && has_quirk(address, "unlisted_rdma");
    if (!function.pf.empty() && has_quirk(address, "stale_gid")) {
        for (FakeGid& entry : rdma[device].gids)
            entry.gid = netns::link_local_gid(function.own_mac);
        rdma[device].deaf.value = true;
    }
    rdma[device].device.infiniband = !function.ethernet;
    uint64_t& guid = rdma[device].device.node_guid;
    if (function.settings.node_guid.value_or(0) != 0)
        guid = *function.settings.node_guid;
    else if (!function.ethernet)
        guid = netns::eui64(function.own_mac);
    else if (has_quirk(address, "no_node_guid"))
        guid = 0;
    else if (!function.pf.empty() && has_quirk(address, "node_guid_of_admin_mac") &&
             !function.mac_given.value)
        guid = 0;
}

void World::unbind(const std::string& address) {
    if (const auto netdev = netdev_of(address))
        destroy_link(netdev->first, netdev->second);
    std::erase_if(rdma, [&](const auto& entry) { return entry.second.pci == address; });
    pci.at(address).driver.clear();
}

uint32_t World::free_index(NetnsId ns, uint32_t wanted) {
    while (namespaces[ns].links.contains(wanted))
        wanted = link_indexes.next++;
    return wanted;
}

void World::move_link(NetnsId from, uint32_t index, NetnsId to, uint32_t new_index) {
    FakeLink moved = *find_link(from, index);
    reset_vf(moved);
    forget_gids(from, index);
    drop_rdma_on(from, index);
    namespaces[from].links.erase(index);
    drop_routes(from, index);
    if (namespaces[from].default_route == index)
        namespaces[from].default_route.reset();
    moved.link.index = new_index;
    moved.link.up = false;
    moved.link.strict_arp = false;
    moved.addresses.clear();
    moved.bridge_port = false;
    moved.link.master = 0;
    namespaces[to].links[new_index] = moved;
    // The driver's RDMA device sees its netdev come back, in whatever namespace.
    for (auto& [device_index, device] : rdma) {
        if (device.pci.empty() || netns::device_of(device.pci) != moved.link.device)
            continue;
        device.netdev_ns = to;
        device.netdev = new_index;
        for (FakeGid& entry : device.gids) {  // a deaf device has this entry
            if (entry.ns == from && entry.netdev == index) {
                entry.ns = to;
                entry.netdev = new_index;
            }
        }
        add_gid(to, new_index, netns::link_local_gid(moved.link.mac));
    }
}

void World::reset_vf(FakeLink& link) {
    const auto function = pci.find(link.link.device);
    if (!link.link.up || function == pci.end() || function->second.pf.empty())
        return;
    if (function->second.mac_given.value &&
        pci.at(function->second.pf).quirks.contains("mac_by_down"))
        link.link.mac = *function->second.settings.mac;
}

void World::set_up(NetnsId ns, uint32_t index, bool up) {
    FakeLink& link = *find_link(ns, index);
    if (link.link.up == up)
        return;
    if (!up)
        reset_vf(link);
    link.link.up = up;
    for (auto& [device_index, device] : rdma) {
        if (device.netdev_ns == ns && device.netdev == index)
            device.comes_up.value = up && has_quirk(device.pci, "late_active");
    }
    if (!up)
        drop_routes(ns, index);
    if (up && link.link.ethernet) {
        link.addresses.push_back(link_local_address(link.link.mac));
        add_gid(ns, index, netns::link_local_gid(link.link.mac));
    }
    for (size_t at = link.addresses.size(); !up && at-- > 0;) {
        const Address address = link.addresses[at];
        if (address.family != netns::Family::V6)
            continue;
        link.addresses.erase(link.addresses.begin() + static_cast<std::ptrdiff_t>(at));
        remove_gid(ns, index, netns::gid_of(address));
    }
}

void World::forget_gids(NetnsId ns, uint32_t netdev) {
    for (auto& [index, device] : rdma) {
        if (!device.deaf.value)
            std::erase_if(device.gids, [&](const FakeGid& entry) {
                return entry.ns == ns && entry.netdev == netdev;
            });
    }
}

// Raises NETDEV_CHANGEADDR, even for the link's present MAC: all its GIDs are made again.
void World::set_mac(NetnsId ns, uint32_t index, const netns::Mac& mac) {
    FakeLink& link = *find_link(ns, index);
    link.link.mac = mac;
    forget_gids(ns, index);
    add_own_gids(ns, index);
}

}  // namespace test
