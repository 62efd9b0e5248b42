// SPDX-License-Identifier: Apache-2.0
// The fake of netns/neighbour.h. Codes and errno values are the kernel room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "netns/neighbour.h"
#include "tests/fakes/fake_host.h"

namespace test {

Result<> FakeNeighbours::announce(const Netns& ns,
                                  const netns::Station& station,
                                  const std::vector<Address>& addresses) {
    const std::string what = "announce addresses on link " + std::to_string(station.index);
    return gate_.pass<void>(what, [&]() -> Result<> {
        const FakeLink* link = world_.find_link(ns.id(), station.index);
        if (link == nullptr || !link->link.up)
            return coded(Code::Unavailable, link == nullptr ? ENODEV : ENETDOWN, what);
        for (const Address& address : addresses)
            announced.push_back(netns::ip_string(address) + " at " + netns::to_string(station.mac));
        return {};
    });
}

Result<std::optional<netns::Mac>> FakeNeighbours::find_owner(const Netns& ns,
                                                             const netns::Station& station,
                                                             const Address& address,
                                                             base::Deadline /*deadline*/) {
    const FakeLink* link = world_.find_link(ns.id(), station.index);
    if (link == nullptr || !link->link.up)
        return coded(Code::Unavailable,
                     link == nullptr ? ENODEV : ENETDOWN,
                     "ask who has " + netns::ip_string(address));
    if (const auto owner = world_.owners.find(netns::ip_string(address));
        owner != world_.owners.end())
        return std::optional<netns::Mac>{owner->second};
    for (const auto& [id, other_ns] : world_.namespaces) {
        for (const auto& [index, other] : other_ns.links) {
            const bool has = std::ranges::any_of(other.addresses, [&](const Address& one) {
                return one.family == address.family && one.bytes == address.bytes;
            });
            if (has && other.link.up && other.link.mac != station.mac)
                return std::optional<netns::Mac>{other.link.mac};
        }
    }
    return std::optional<netns::Mac>{};
}

}  // namespace test
