// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/checks.h"

#include <fmt/format.h>

#include "netns/link.h"
#include "netns/neighbour.h"
#include "netns/rdma.h"

namespace hook {

std::string CheckDataPath::describe() const {
    return "check that the kernel serves RoCE (UDP 4791) in the container's namespace";
}

Result<> CheckDataPath::apply(Site& site) const {
    if (TRY(site.host.rdma.roce_port_served(*site.container)))
        return {};
    return make_error(Code::Unsupported, problem).advise(fix);
}

std::string ProbeAddresses::describe() const {
    std::string list;
    for (const auto& address : addresses)
        list += (list.empty() ? "" : ", ") + netns::ip_string(address);
    return "ask the network who has " + list;
}

Result<> ProbeAddresses::apply(Site& site) const {
    const auto own = TRY(site.host.links.find(*site.container, link));
    if (!own)
        return make_error(Code::Unavailable, "the container's interface is gone")
            .advise("create the container again");
    for (const netns::Address& address : addresses) {
        const auto owner = TRY(site.host.neighbours.find_owner(
            *site.container, {own->index, own->mac}, address, base::Deadline::in(wait)));
        if (!owner)
            continue;
        site.in_use.push_back(address);
        return make_error(Code::Busy,
                          fmt::format("address {} is in use on the network, by {}",
                                      netns::ip_string(address),
                                      netns::to_string(*owner)))
            .advise(fix);
    }
    return {};
}

}  // namespace hook
