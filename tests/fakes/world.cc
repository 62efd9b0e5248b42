// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/world.h"

#include <algorithm>

namespace test {

namespace {
constexpr uint64_t kNsfsDevice = 4;
constexpr uint32_t kVerbsMajor = 231;
constexpr uint32_t kFirstVerbsMinor = 192;

netns::Link loopback() {
    netns::Link lo;
    lo.index = 1;
    lo.name = "lo";
    lo.mtu = 65536;
    lo.up = true;
    lo.ethernet = false;
    lo.loopback = true;
    return lo;
}

bool is_software(const FakeRdma& device) {
    return device.type == "rxe" || device.type == "siw";
}

// Moves a link out of a namespace that dies. Hardware returns to the host under its name, or as
// devN if that is taken there.
void leave(World& world, NetnsId ns, uint32_t index) {
    const netns::Link link = world.find_link(ns, index)->link;
    if (!link.kind.empty() || link.loopback) {
        world.destroy_link(ns, index);
        return;
    }
    FakeNetns& host = world.namespaces[world.host];
    FakeLink& leaving = *world.find_link(ns, index);
    if (name_taken(host, link.name))
        leaving.link.name = "dev" + std::to_string(index);
    std::erase_if(leaving.link.altnames, [&](const auto& name) { return name_taken(host, name); });
    world.move_link(ns, index, world.host, world.free_index(world.host, index));
}

// Returns an RDMA device to the host. Since 7.3 a name belongs to a namespace, and may be taken.
void return_rdma(World& world, FakeRdma& device) {
    const auto taken = [&](const std::string& name) {
        return std::any_of(world.rdma.begin(), world.rdma.end(), [&](const auto& entry) {
            return entry.second.owner == world.host && entry.second.device.name == name;
        });
    };
    for (uint32_t number = 0; taken(device.device.name); ++number)
        device.device.name = "ibdev" + std::to_string(number);
    device.owner = world.host;
}
}  // namespace

KernelTraits KernelTraits::v6_12() {
    KernelTraits traits;
    traits.rxe_serves_netns = false;
    traits.lookup_in_target = false;
    return traits;
}

KernelTraits KernelTraits::v7_2() {
    return {};
}

KernelTraits KernelTraits::v7_3() {
    KernelTraits traits;
    traits.rxe_can_move = true;
    return traits;
}

World World::standard(KernelTraits kernel) {
    World world;
    world.kernel = kernel;
    world.boot_id = "5a1f6e0a-7c0d-4b54-9a3e-2f1f0c7f9b11";
    world.inodes.next = 0xf0000000;
    world.host = world.add_netns();
    netns::Link eth0;
    eth0.index = kHostLink;
    eth0.name = "eth0";
    eth0.mac = *netns::parse_mac("52:54:00:00:00:02");
    eth0.mtu = 1500;
    eth0.up = true;
    world.add_link(world.host, eth0);
    world.link_indexes.next = 3;
    world.find_link(world.host, kHostLink)
        ->addresses.insert(world.find_link(world.host, kHostLink)->addresses.begin(),
                           *netns::parse_cidr("192.0.2.10/24"));
    world.namespaces[world.host].default_route = kHostLink;
    world.parent = kEngine;
    world.add_process(kEngine, world.host);
    world.self = kSelf;
    world.add_process(kSelf, world.host);
    const NetnsId container = world.add_netns();
    world.add_process(kContainer, container);
    world.engine_paths[kContainerPath] = container;
    return world;
}

NetnsId World::add_netns() {
    const NetnsId id{kNsfsDevice, inodes.next++};
    const netns::Link lo = loopback();
    namespaces[id].links[lo.index] = {
        lo, {*netns::parse_cidr("127.0.0.1/8"), *netns::parse_cidr("::1/128")}, false};
    return id;
}

void World::add_process(pid_t pid, NetnsId ns) {
    processes[pid] = {.start = static_cast<uint64_t>(pid) * 100 + 7,
                      .ns = ns,
                      .zombie = false,
                      .rdma_max = {},
                      .devices = {},
                      .placed = {},
                      .tmpfs = {"dev", "run"},
                      .memlock = {.soft = 65536, .hard = 65536}};
}

uint32_t World::add_link(NetnsId ns, netns::Link link) {
    if (link.index == 0)
        link.index = link_indexes.next++;
    FakeLink added{link, {}, false};
    if (link.up && link.ethernet)
        added.addresses.push_back(link_local_address(link.mac));
    namespaces[ns].links[link.index] = added;
    if (!added.addresses.empty())
        add_gid(ns, link.index, netns::link_local_gid(link.mac));
    return link.index;
}

uint32_t World::add_rdma(NetnsId ns,
                         uint32_t netdev,
                         const std::string& name,
                         const std::string& type) {
    const FakeLink* on = find_link(ns, netdev);
    const FakeLink link = on == nullptr ? FakeLink{} : *on;  // an adapter without one
    FakeRdma added;
    added.device = {.index = rdma_indexes.next++,
                    .name = name,
                    .node_guid = netns::eui64(link.link.mac),
                    .iwarp = type == "siw"};
    added.type = type;
    added.owner = host;  // from any namespace: ib_alloc_device gets init_net
    added.netdev_ns = ns;
    added.netdev = netdev;
    added.uverbs = free_uverbs();
    if (const auto function = pci.find(link.link.device);
        function != pci.end() && !is_software(added)) {
        added.pci = function->first;
        added.device.iwarp = has_quirk(added.pci, "iwarp");
        if (has_quirk(added.pci, "roce_off"))
            added.gid_slots = 0;
        if (has_quirk(added.pci, "gids_32"))
            added.gid_slots = 32;
    }
    added.gsi_qp = !added.device.iwarp;
    const uint32_t index = added.device.index;
    rdma[index] = added;
    add_own_gids(ns, netdev);
    // Addresses of links that stand on this one, in any namespace.
    for (const auto& [other_ns, other] : namespaces) {
        for (const auto& [other_index, upper] : other.links) {
            if (!is_child(upper) || upper.link.parent != netdev || !(ns == host))
                continue;
            for (const auto& address : upper.addresses)
                add_gid(other_ns, other_index, netns::gid_of(address));
        }
    }
    return index;
}

void World::settle() {
    std::set<NetnsId, NetnsIdOrder> held{host};
    for (const auto& [pid, process] : processes) {
        if (!process.zombie)
            held.insert(process.ns);
    }
    for (const auto& [path, id] : engine_paths)
        held.insert(id);
    for (const auto& [path, id] : pins)
        held.insert(id);
    for (auto& [id, ns] : namespaces) {
        ns.in_our_hands = false;
        if (ns.open_connection)
            held.insert(id);
    }
    for (auto entry = namespaces.begin(); entry != namespaces.end();) {
        const NetnsId id = entry->first;
        if (held.contains(id)) {
            ++entry;
            continue;
        }
        while (!entry->second.links.empty())
            leave(*this, id, entry->second.links.begin()->first);
        for (auto& [index, device] : rdma) {
            if (device.owner == id)
                return_rdma(*this, device);
        }
        entry = namespaces.erase(entry);
    }
    for (const auto& [address, function] : pci) {
        if (has_quirk(address, "late_netdev"))  // it has come by now
            register_netdev(address);
    }
    // A software device without its netdev follows as soon as nobody has it open.
    std::erase_if(rdma, [](const auto& entry) {
        return entry.second.netdev == 0 && entry.second.contexts == 0 && is_software(entry.second);
    });
}

FakeNetns* World::find(const netns::Netns& ns) {
    const auto found = namespaces.find(ns.id());
    return found == namespaces.end() ? nullptr : &found->second;
}

FakeProcess* World::find_process(const netns::ProcessToken& token, bool dead) {
    const auto found = processes.find(token.pid);
    const bool same = found != processes.end() && found->second.start == token.start &&
                      (dead || !found->second.zombie);
    return same ? &found->second : nullptr;
}

FakeLink* World::find_link(NetnsId ns, uint32_t index) {
    const auto found = namespaces.find(ns);
    if (found == namespaces.end())
        return nullptr;
    const auto link = found->second.links.find(index);
    return link == found->second.links.end() ? nullptr : &link->second;
}

void World::destroy_link(NetnsId ns, uint32_t index) {
    const FakeLink* link = find_link(ns, index);
    if (link == nullptr)
        return;
    // Children stand on links of the host's namespace, in whatever namespace they are.
    std::vector<std::pair<NetnsId, uint32_t>> uppers;
    for (const auto& [id, other] : namespaces) {
        for (const auto& [other_index, upper] : other.links) {
            if (ns == host && is_child(upper) && upper.link.parent == index)
                uppers.emplace_back(id, other_index);
        }
    }
    for (const auto& [id, upper] : uppers)
        destroy_link(id, upper);
    for (auto& [device_index, device] : rdma)
        std::erase_if(device.gids, [&](const FakeGid& entry) {
            return entry.ns == ns && entry.netdev == index;
        });
    drop_rdma_on(ns, index);
    namespaces[ns].links.erase(index);
    drop_routes(ns, index);
    if (namespaces[ns].default_route == index)
        namespaces[ns].default_route.reset();
}

void World::drop_routes(NetnsId ns, uint32_t netdev) {
    std::erase_if(namespaces[ns].routes, [&](const auto& route) { return route.link == netdev; });
}

void World::drop_rdma_on(NetnsId ns, uint32_t netdev) {
    for (auto entry = rdma.begin(); entry != rdma.end();) {
        FakeRdma& device = entry->second;
        if (!(device.netdev_ns == ns) || device.netdev != netdev) {
            ++entry;
        } else if (is_software(device) && (device.contexts == 0 || kernel.rxe_can_move)) {
            // rxe learned to cut off its users when it learned to move (disassociate_ucontext).
            entry = rdma.erase(entry);
        } else {
            device.netdev = 0;
            device.netdev_ns = {};
            ++entry;
        }
    }
}

void World::add_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid) {
    const FakeLink* link = find_link(ns, netdev);
    if (!kernel.makes_gids || link == nullptr || !link->link.ethernet)
        return;
    for (auto& [index, device] : rdma) {
        if (device.device.iwarp || device.deaf.value)  // iWARP has no GIDs of addresses
            continue;
        const bool own = device.netdev_ns == ns && device.netdev == netdev;
        const FakeLink* port = find_link(host, device.netdev);
        const bool above =
            is_child(*link) && device.netdev_ns == host && port != nullptr &&
            (device.netdev == link->link.parent || port->link.master == link->link.parent);
        if (!own && !above)
            continue;
        const auto same = [&](const FakeGid& entry) {
            return entry.gid == gid && entry.ns == ns && entry.netdev == netdev;
        };
        const bool full = device.gids.size() >= device.gid_slots;
        if (full || std::any_of(device.gids.begin(), device.gids.end(), same))
            continue;
        uint32_t slot = 0;  // the first empty one
        auto place = device.gids.begin();
        while (place != device.gids.end() && place->index == slot) {
            ++place;
            ++slot;
        }
        device.gids.insert(place, {slot, gid, netns::GidType::RoceV2, ns, netdev});
    }
}

void World::add_own_gids(NetnsId ns, uint32_t netdev) {
    const FakeLink* found = find_link(ns, netdev);
    if (found == nullptr)
        return;
    if (!is_child(*found))
        add_gid(ns, netdev, netns::link_local_gid(found->link.mac));
    for (const auto& address : found->addresses)
        add_gid(ns, netdev, netns::gid_of(address));
}

void World::fail_over(uint32_t device, uint32_t port) {
    FakeRdma& moving = rdma.at(device);
    for (auto& entry : moving.gids) {
        if (entry.ns == moving.netdev_ns && entry.netdev == moving.netdev)
            entry.netdev = port;
    }
    moving.netdev = port;
}

void World::remove_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid) {
    const FakeLink* link = find_link(ns, netdev);
    for (auto& [index, device] : rdma) {
        // The default entry belongs to the device's own netdev and outlives the address.
        const bool fixed = link != nullptr && device.netdev_ns == ns && device.netdev == netdev &&
                           gid == netns::link_local_gid(link->link.mac);
        if (!fixed && !device.deaf.value)
            std::erase_if(device.gids, [&](const FakeGid& entry) {
                return entry.gid == gid && entry.ns == ns && entry.netdev == netdev;
            });
    }
}

bool World::sees(NetnsId ns, const FakeRdma& device) const {
    if (hidden.rdma)
        return false;
    return mode == netns::RdmaNetnsMode::Shared || device.owner == ns;
}

netns::CharDevice World::free_uverbs() const {
    for (uint32_t number = 0;; ++number) {
        const auto taken = [&](const auto& entry) {
            return entry.second.uverbs.minor == kFirstVerbsMinor + number;
        };
        if (std::none_of(rdma.begin(), rdma.end(), taken))
            return {"uverbs" + std::to_string(number), kVerbsMajor, kFirstVerbsMinor + number};
    }
}

netns::Netns World::handle(NetnsId id) const {
    return {id, base::UniqueFd{}};
}

bool is_child(const FakeLink& link) {
    return netns::parse_child_kind(link.link.kind).has_value();
}

Address link_local_address(const netns::Mac& mac) {
    return {netns::Family::V6, netns::link_local_gid(mac).bytes, 64};
}

}  // namespace test
