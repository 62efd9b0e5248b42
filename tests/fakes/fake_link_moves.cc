// SPDX-License-Identifier: Apache-2.0
// The fake of netns/link.h: moving and changing links. As in the kernel, the move comes first, then
// one attribute after the other. Changes that precede a refusal stay.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using netns::Link;
using netns::LinkChange;

namespace {
constexpr size_t kLongestName = 15;    // IFNAMSIZ - 1
constexpr size_t kLongestAlias = 255;  // IFALIASZ - 1

std::string text_of(uint32_t index) {
    return "link " + std::to_string(index);
}

// True unless the kernel marks the link as bound to its namespace.
bool can_leave(const Link& link) {
    return !link.loopback && link.kind != "bridge" && link.kind != "bond";
}

// Drops the link's altname that is its new name: a link cannot take that name, so the room drops
// it.
void free_altname(FakeLink& link, const LinkChange& change) {
    if (change.name)
        std::erase(link.link.altnames, *change.name);
}

bool is_name(const std::string& name) {
    return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
           name.find_first_of("/: \t\n%") == std::string::npos;
}
}  // namespace

Result<std::optional<Link>> FakeLinks::find_by_device(const Netns& ns, const std::string& device) {
    for (const auto& link : TRY(list(ns))) {
        if (!device.empty() && link.device == device)
            return std::optional<Link>{link};
    }
    return std::optional<Link>{};
}

Result<> FakeLinks::move(const Netns& from,
                         const Netns& to,
                         uint32_t index,
                         const LinkChange& change) {
    return gate_.pass<void>("move " + text_of(index),
                            [&] { return relocate(from, to, index, change); });
}

Result<> FakeLinks::change(const Netns& ns, uint32_t index, const LinkChange& change) {
    return gate_.pass<void>("change " + text_of(index), [&]() -> Result<> {
        if (world_.find_link(ns.id(), index) == nullptr)
            return coded(Code::Unavailable, ENODEV, "change " + text_of(index));
        if (change.name && !is_name(*change.name))
            return coded(Code::BadInput, EINVAL, "change " + text_of(index));
        free_altname(*world_.find_link(ns.id(), index), change);
        if (change.up && !*change.up)
            world_.set_up(ns.id(), index, false);
        return apply(ns.id(), index, change);
    });
}

Result<> FakeLinks::raise(const Netns& ns, uint32_t index, base::Deadline deadline) {
    const std::string what = "raise " + text_of(index);
    return gate_.pass<void>(what, [&]() -> Result<> {
        const FakeLink* link = world_.find_link(ns.id(), index);
        if (link == nullptr)
            return coded(Code::Unavailable, ENODEV, what);
        if (!world_.out_of_reset(link->link.device, deadline))
            return coded(Code::Busy, EBUSY, what);
        world_.set_up(ns.id(), index, true);
        return {};
    });
}

Result<> FakeLinks::remove_altname(const Netns& ns, uint32_t index, const std::string& name) {
    return gate_.pass<void>("take altname " + name + " off " + text_of(index), [&]() -> Result<> {
        if (FakeLink* link = world_.find_link(ns.id(), index))
            std::erase(link->link.altnames, name);
        return {};
    });
}

Result<> FakeLinks::relocate(const Netns& from,
                             const Netns& to,
                             uint32_t index,
                             const LinkChange& change) {
    const std::string what = "move " + text_of(index);
    FakeLink* link = world_.find_link(from.id(), index);
    if (link == nullptr)
        return coded(Code::Unavailable, ENODEV, what);
    if (world_.find(to) == nullptr)
        return coded(Code::Kernel, EINVAL, what);
    if (change.name && !is_name(*change.name))
        return coded(Code::BadInput, EINVAL, what);
    if (change.index && (*change.index == 0 || *change.index > INT32_MAX))
        return coded(Code::BadInput, ERANGE, what);
    free_altname(*link, change);
    if (from.id() == to.id())
        return apply(from.id(), index, change);
    const uint32_t place_there = TRY(place(to.id(), *link, change));
    world_.move_link(from.id(), index, to.id(), place_there);
    return apply(to.id(), place_there, change);
}

Result<uint32_t> FakeLinks::place(NetnsId into, FakeLink& link, const LinkChange& change) {
    const std::string what = "move " + text_of(link.link.index);
    const FakeNetns& target = world_.namespaces[into];
    if (!can_leave(link.link))
        return coded(Code::Refused, EINVAL, what);
    const bool taken = name_taken(target, link.link.name);
    if (taken && (!change.name || name_taken(target, *change.name)))
        return coded(Code::Busy, EEXIST, what);
    for (const auto& name : link.link.altnames) {
        if (name_taken(target, name))
            return coded(Code::Busy, EEXIST, what);
    }
    if (change.index && target.links.contains(*change.index))
        return coded(Code::Busy, EBUSY, what);
    // The move itself changes only a name that is taken there.
    if (taken)
        link.link.name = *change.name;
    return change.index ? *change.index : world_.free_index(into, link.link.index);
}

Result<> FakeLinks::apply(NetnsId ns, uint32_t index, const LinkChange& change) {
    const std::string what = "change " + text_of(index);
    FakeLink& link = *world_.find_link(ns, index);
    if (change.mac)
        TRY(set_mac(ns, link, *change.mac));
    if (change.mtu) {
        if (*change.mtu < 68 || *change.mtu > largest_mtu(link))
            return coded(Code::BadInput, EINVAL, what);
        link.link.mtu = *change.mtu;
    }
    if (change.name && *change.name != link.link.name) {
        if (name_taken(world_.namespaces[ns], *change.name))
            return coded(Code::Busy, EEXIST, what);
        link.link.name = *change.name;
    }
    if (change.alias) {
        if (change.alias->size() > kLongestAlias)
            return coded(Code::BadInput, ERANGE, what);
        link.link.alias = *change.alias;
    }
    if (change.up == true && !world_.out_of_reset(link.link.device, base::Deadline::now()))
        return coded(Code::Busy, EBUSY, what);
    if (change.up)
        world_.set_up(ns, index, *change.up);
    return {};
}

uint32_t FakeLinks::largest_mtu(const FakeLink& link) {
    const FakeLink* parent =
        is_child(link) ? world_.find_link(world_.host, link.link.parent) : nullptr;
    if (parent != nullptr)
        return parent->link.mtu;
    return link.link.device.empty() ? 65535 : 9216;  // roughly igb's and mlx5's
}

Result<> FakeLinks::set_mac(NetnsId ns, const FakeLink& link, const netns::Mac& mac) {
    const std::string what = "set the MAC of " + text_of(link.link.index);
    if (mac.is_multicast() || mac.is_zero())
        return coded(Code::BadInput, EADDRNOTAVAIL, what);
    const auto function = world_.pci.find(link.link.device);
    if (function == world_.pci.end() || link.link.mac == mac) {
        world_.set_mac(ns, link.link.index, mac);
        return {};
    }
    FakePci& own = function->second;
    const FakePci& pf = own.pf.empty() ? own : world_.pci.at(own.pf);
    const bool fixed = pf.quirks.contains("keeps_pf_mac") && own.mac_given.value &&
                       !own.settings.trust.value_or(false);
    if (fixed)
        return coded(Code::BadInput, EADDRNOTAVAIL, what);
    if (!own.pf.empty() && pf.quirks.contains("reports_own_mac"))
        own.settings.mac = mac;
    world_.set_mac(ns, link.link.index, mac);
    return {};
}

}  // namespace test
