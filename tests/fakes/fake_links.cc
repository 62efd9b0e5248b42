// SPDX-License-Identifier: Apache-2.0
// The fake of netns/link.h. Codes and errno values are the kernel room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;
using base::Error;
using base::sys_error;
using netns::Link;

namespace {
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

Result<std::vector<Link>> FakeLinks::list(const Netns& ns) {
    std::vector<Link> all;
    if (const FakeNetns* found = world_.find(ns)) {
        for (const auto& [index, link] : found->links)
            all.push_back(link.link);
    }
    return all;
}

Result<std::vector<Address>> FakeLinks::addresses(const Netns& ns, uint32_t index) {
    const FakeLink* found = world_.find_link(ns.id(), index);
    if (found == nullptr)
        return coded(Code::Unavailable, ENODEV, "list addresses of link " + std::to_string(index));
    // As the kernel's two dumps: v4 first.
    std::vector<Address> all = found->addresses;
    std::stable_sort(all.begin(), all.end(), [](const Address& a, const Address& b) {
        return a.family < b.family;
    });
    return all;
}

Result<std::optional<uint32_t>> FakeLinks::default_route_link(const Netns& ns) {
    const FakeNetns* found = world_.find(ns);
    return found == nullptr ? std::optional<uint32_t>{} : found->default_route;
}

Result<> FakeLinks::create_macvlan(const Netns& host,
                                   const Netns& target,
                                   const netns::MacvlanSpec& spec) {
    return gate_.pass<void>("create macvlan " + spec.name,
                            [&] { return place_macvlan(host, target, spec); });
}

Result<> FakeLinks::place_macvlan(const Netns& host,
                                  const Netns& target,
                                  const netns::MacvlanSpec& spec) {
    const std::string what = "create macvlan " + spec.name;
    FakeNetns* into = world_.find(target);
    FakeNetns* from = world_.find(host);
    if (into == nullptr || from == nullptr)
        return coded(Code::Kernel, EINVAL, what);
    const FakeNetns& searched = world_.kernel.lookup_in_target ? *into : *from;
    if (searched.links.contains(spec.index))
        return coded(Code::Busy, EEXIST, what);
    if (spec.mac.is_multicast() || spec.mac.is_zero())
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
    if (parent->bridge_port)
        return coded(Code::Refused, EBUSY, what);
    for (const auto& [id, ns] : world_.namespaces) {
        for (const auto& [index, other] : ns.links) {
            const bool sibling = other.link.kind == "macvlan" && other.link.parent == spec.parent;
            const bool is_parent = id == host.id() && index == spec.parent;
            if ((sibling || is_parent) && other.link.mac == spec.mac)
                return coded(Code::Busy, EADDRINUSE, what);
        }
    }
    Link link;
    link.index = spec.index;
    link.name = spec.name;
    link.kind = "macvlan";
    link.mac = spec.mac;
    link.mtu = spec.mtu;
    link.up = true;
    link.parent = spec.parent;
    // Without a carrier the kernel gives no link-local address; a parent that is down has none.
    if (parent->link.up) {
        world_.add_link(target.id(), link);
    } else {
        into->links[link.index] = {link, {}, false};
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
        // v6 addresses are told apart without their prefix length, v4 ones with it.
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
