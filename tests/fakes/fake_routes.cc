// SPDX-License-Identifier: Apache-2.0
// The fake of netns/route.h. Codes and errno values are the kernel room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using netns::Route;
using netns::SourceRule;

namespace {
// True for one destination in one table: it has one route.
bool same_place(const Route& a, const Route& b) {
    return a.family == b.family && a.table == b.table && a.destination == b.destination;
}

bool reaches(const FakeNetns& ns, const FakeLink& link, const Address& gateway) {
    const bool by_address = std::ranges::any_of(link.addresses, [&](const Address& own) {
        return own.family == gateway.family && netns::contains(own, gateway);
    });
    return by_address || std::ranges::any_of(ns.routes, [&](const Route& route) {
               return route.link == link.link.index && route.destination && !route.gateway &&
                      netns::contains(*route.destination, gateway);
           });
}
}  // namespace

Result<> FakeRoutes::add(const Netns& ns, const Route& route) {
    const std::string what = "add route on link " + std::to_string(route.link);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeNetns* found = world_.find(ns);
        const FakeLink* link = world_.find_link(ns.id(), route.link);
        if (link == nullptr || !link->link.up)
            return coded(Code::Unavailable, link == nullptr ? ENODEV : ENETDOWN, what);
        if (route.gateway && !reaches(*found, *link, *route.gateway))
            return coded(Code::BadInput, ENETUNREACH, what);
        for (const Route& other : found->routes) {
            if (same_place(other, route))
                return coded(Code::Busy, EEXIST, what);
        }
        found->routes.push_back(route);
        return {};
    });
}

Result<> FakeRoutes::remove(const Netns& ns, const Route& route) {
    return gate_.pass<void>("remove route", [&]() -> Result<> {
        if (FakeNetns* found = world_.find(ns))
            std::erase(found->routes, route);
        return {};
    });
}

Result<> FakeRoutes::add_rule(const Netns& ns, const SourceRule& rule) {
    const std::string what = "add rule from " + netns::ip_string(rule.source);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeNetns* found = world_.find(ns);
        if (found == nullptr)
            return coded(Code::Kernel, EINVAL, what);
        if (std::ranges::count(found->rules, rule) > 0)
            return coded(Code::Busy, EEXIST, what);
        found->rules.push_back(rule);
        return {};
    });
}

Result<> FakeRoutes::remove_rule(const Netns& ns, const SourceRule& rule) {
    return gate_.pass<void>("remove rule", [&]() -> Result<> {
        if (FakeNetns* found = world_.find(ns))
            std::erase(found->rules, rule);
        return {};
    });
}

}  // namespace test
