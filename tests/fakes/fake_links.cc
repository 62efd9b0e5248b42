// SPDX-License-Identifier: Apache-2.0
// The fake of netns/link.h. Codes and errno values are the kernel room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using netns::ChildKind;
using netns::Link;

namespace {
std::string what_of(const netns::ChildSpec& spec) {
    return "create " + std::string(netns::to_string(spec.type.kind)) + " " + spec.name;
}

bool same_network(const Address& a, const Address& b) {
    return a.prefix == b.prefix && netns::contains(a, b);
}
}  // namespace

Result<std::optional<Link>> FakeLinks::find(const Netns& ns, uint32_t index) {
    const FakeLink* found = world_.find_link(ns.id(), index);
    return found == nullptr ? std::optional<Link>{} : std::optional<Link>{found->link};
}

Result<std::optional<Link>> FakeLinks::find_by_name(const Netns& ns, const std::string& name) {
    for (const auto& link : TRY(list(ns))) {
        const auto& others = link.altnames;
        if (link.name == name || std::find(others.begin(), others.end(), name) != others.end())
            return std::optional<Link>{link};
    }
    return std::optional<Link>{};
}

Result<bool> FakeLinks::wait_until_free(const Netns& ns,
                                        const std::string& name,
                                        base::Deadline deadline) {
    if (TRY(find_by_name(ns, name)))
        gate_.wait_for_others(deadline);
    return !TRY(find_by_name(ns, name));
}

Result<std::vector<Link>> FakeLinks::list(const Netns& ns) {
    std::vector<Link> all;
    if (const FakeNetns* found = world_.find(ns)) {
        for (const auto& [index, link] : found->links)
            all.push_back(link.link);
    }
    return all;
}

Result<std::vector<uint32_t>> FakeLinks::ports_of(const Netns& ns, uint32_t master) {
    std::vector<uint32_t> ports;
    if (const FakeNetns* found = world_.find(ns)) {
        for (const auto& [index, link] : found->links) {
            if (master != 0 && link.link.master == master)
                ports.push_back(index);
        }
    }
    return ports;
}

Result<std::vector<Address>> FakeLinks::addresses(const Netns& ns, uint32_t index) {
    const FakeLink* found = world_.find_link(ns.id(), index);
    if (found == nullptr)
        return coded(Code::Unavailable, ENODEV, "list addresses of link " + std::to_string(index));
    // v4 comes first, as in the kernel's two dumps.
    std::vector<Address> all = found->addresses;
    std::stable_sort(all.begin(), all.end(), [](const Address& a, const Address& b) {
        return a.family < b.family;
    });
    return all;
}

Result<uint32_t> FakeLinks::receive_rules(const Netns& ns, const std::string& name) {
    const auto link = TRY(find_by_name(ns, name));
    if (!link)
        return coded(Code::Unavailable, ENODEV, "count the receive rules of link " + name);
    return world_.find_link(ns.id(), link->index)->receive_rules;
}

Result<std::optional<uint32_t>> FakeLinks::default_route_link(const Netns& ns) {
    const FakeNetns* found = world_.find(ns);
    return found == nullptr ? std::optional<uint32_t>{} : found->default_route;
}

Result<> FakeLinks::create_child(const Netns& host,
                                 const Netns& target,
                                 const netns::ChildSpec& spec) {
    return gate_.pass<void>(what_of(spec), [&] { return place_child(host, target, spec); });
}

Result<> FakeLinks::place_child(const Netns& host,
                                const Netns& target,
                                const netns::ChildSpec& spec) {
    const std::string what = what_of(spec);
    FakeNetns* into = world_.find(target);
    FakeNetns* from = world_.find(host);
    if (into == nullptr || from == nullptr)
        return coded(Code::Kernel, EINVAL, what);
    const FakeNetns& searched = world_.kernel.lookup_in_target ? *into : *from;
    if (searched.links.contains(spec.index))
        return coded(Code::Busy, EEXIST, what);
    const bool ipvlan = spec.type.kind == ChildKind::Ipvlan;
    if (!ipvlan && (spec.mac.is_multicast() || spec.mac.is_zero()))
        return coded(Code::BadInput, EADDRNOTAVAIL, what);
    if (spec.mtu < 68 || spec.mtu > 65535)
        return coded(Code::BadInput, EINVAL, what);
    const FakeLink* parent = world_.find_link(host.id(), spec.parent);
    if (parent == nullptr)
        return coded(Code::Unavailable, ENODEV, what);
    if (into->links.contains(spec.index))
        return coded(Code::Busy, EBUSY, what);
    if (name_taken(*into, spec.name))
        return coded(Code::Busy, EEXIST, what);
    if (spec.mtu > parent->link.mtu)
        return coded(Code::BadInput, EINVAL, what);
    if (!parent->link.ethernet)
        return coded(Code::Refused, EINVAL, what);
    if (parent->bridge_port && spec.type.kind != ChildKind::Vlan)
        return coded(Code::Refused, EBUSY, what);
    TRY(check_siblings(*parent, spec));
    FakeLink child;
    child.vlan = spec.type.kind == ChildKind::Vlan ? spec.type.vlan : uint16_t{0};
    child.link.index = spec.index;
    child.link.name = spec.name;
    child.link.kind = netns::to_string(spec.type.kind);
    child.link.mac = ipvlan ? parent->link.mac : spec.mac;
    child.link.mtu = spec.mtu;
    child.link.up = !parent->link.up;
    child.link.parent = spec.parent;
    into->links[spec.index] = child;
    // Without a carrier the kernel gives no link-local address; a parent that is down has none.
    if (!child.link.up)
        world_.set_up(target.id(), spec.index, true);
    return {};
}

// Checks the other children of the parent. A macvlan and an ipvlan exclude each other: each wants
// all that the parent receives.
Result<> FakeLinks::check_siblings(const FakeLink& parent, const netns::ChildSpec& spec) {
    const std::string what = what_of(spec);
    const bool macvlan = spec.type.kind == ChildKind::Macvlan;
    if (macvlan && parent.link.mac == spec.mac)
        return coded(Code::Busy, EADDRINUSE, what);
    for (const auto& [id, ns] : world_.namespaces) {
        for (const auto& [index, other] : ns.links) {
            const auto kind = netns::parse_child_kind(other.link.kind);
            if (!kind || other.link.parent != spec.parent)
                continue;
            if (*kind == ChildKind::Vlan || spec.type.kind == ChildKind::Vlan) {
                if (*kind == spec.type.kind && other.vlan == spec.type.vlan)
                    return coded(Code::Busy, EEXIST, what);
            } else if (*kind != spec.type.kind) {
                return coded(Code::Refused, EBUSY, what);
            } else if (macvlan && other.link.mac == spec.mac) {
                return coded(Code::Busy, EADDRINUSE, what);
            }
        }
    }
    return {};
}

Result<> FakeLinks::remove(const Netns& ns, uint32_t index) {
    return gate_.pass<void>("remove link " + std::to_string(index), [&]() -> Result<> {
        const FakeLink* link = world_.find_link(ns.id(), index);
        if (link == nullptr)
            return {};
        if (link->link.kind.empty())
            return coded(Code::Unsupported, EOPNOTSUPP, "remove link " + std::to_string(index));
        world_.destroy_link(ns.id(), index);
        return {};
    });
}

Result<> FakeLinks::set_strict_arp(const Netns& ns, uint32_t index) {
    const std::string what = "set strict ARP on link " + std::to_string(index);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeLink* link = world_.find_link(ns.id(), index);
        if (link == nullptr)
            return coded(Code::Unavailable, ENODEV, what);
        link->link.strict_arp = true;
        return {};
    });
}

Result<> FakeLinks::add_address(const Netns& ns, uint32_t index, const Address& address) {
    const std::string what = "add address " + netns::to_string(address);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeLink* link = world_.find_link(ns.id(), index);
        if (link == nullptr)
            return coded(Code::Unavailable, ENODEV, what);
        auto& all = link->addresses;
        // The kernel compares v6 addresses without their prefix length, v4 ones with it.
        const auto same = [&](const Address& other) {
            return other.family == address.family && other.bytes == address.bytes &&
                   (address.family == netns::Family::V6 || other.prefix == address.prefix);
        };
        if (std::any_of(all.begin(), all.end(), same))
            return coded(Code::Busy, EEXIST, what);
        all.push_back(address);
        world_.add_gid(ns.id(), index, netns::gid_of(address));
        return {};
    });
}

Result<> FakeLinks::remove_address(const Netns& ns, uint32_t index, const Address& address) {
    const std::string what = "remove address " + netns::to_string(address);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeLink* link = world_.find_link(ns.id(), index);
        if (link == nullptr)
            return {};
        auto& all = link->addresses;
        const auto found = std::find(all.begin(), all.end(), address);
        if (found == all.end())
            return {};
        // The first v4 address of a network is the primary one: its secondaries go with it.
        const bool v4 = address.family == netns::Family::V4;
        const bool primary =
            v4 && std::none_of(all.begin(), found, [&](const Address& other) {
                return other.family == address.family && same_network(other, address);
            });
        std::vector<Address> gone{address};
        for (const auto& other : all) {
            if (primary && !(other == address) && other.family == address.family &&
                same_network(other, address))
                gone.push_back(other);
        }
        for (const auto& one : gone) {
            std::erase(all, one);
            world_.remove_gid(ns.id(), index, netns::gid_of(one));
        }
        return {};
    });
}

}  // namespace test
