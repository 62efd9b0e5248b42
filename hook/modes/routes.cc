// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/routes.h"

#include <algorithm>

#include "netns/route.h"

namespace hook {

using netns::Address;
using netns::Route;

namespace {
constexpr uint32_t kFirstPriority = 1000;  // before the main table's 32766

// Returns the destination of a route; nothing for a default route, which the kernel knows by the
// missing destination.
std::optional<Address> destination_of(const Address& network) {
    return network.prefix == 0 ? std::nullopt : std::optional{network};
}

void add_own_table(Plan& plan, const Attachment& attachment) {
    const uint32_t table = plan.endpoint.netdev;  // this rail's table, and no other's
    std::vector<Address> networks;                // several addresses may be in one network
    for (const Address& address : plan.endpoint.addresses) {
        const Address source = *netns::parse_ip(netns::ip_string(address));
        const Address network = netns::network_of(address);
        if (std::ranges::count(networks, network) == 0)
            plan.add(AddRoute{{.family = address.family,
                               .destination = network,
                               .source = source,
                               .link = plan.endpoint.netdev,
                               .table = table}});
        networks.push_back(network);
        plan.add(AddRule{
            .source = {source}, .table = table, .priority = kFirstPriority + attachment.index});
    }
    for (const Address& gateway : attachment.gateways)
        plan.add(AddRoute{{.family = gateway.family,
                           .gateway = gateway,
                           .link = plan.endpoint.netdev,
                           .table = table}});
}
}  // namespace

void add_routes(Plan& plan, const Attachment& attachment) {
    if (attachment.index > 0 || !attachment.gateways.empty())
        add_own_table(plan, attachment);
    for (const RouteRequest& route : attachment.routes)
        plan.add(AddRoute{{.family = route.network.family,
                           .destination = destination_of(route.network),
                           .gateway = route.gateway,
                           .link = plan.endpoint.netdev,
                           .table = netns::kMainTable}});
}

}  // namespace hook
