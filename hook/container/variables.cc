// SPDX-License-Identifier: Apache-2.0
#include "hook/container/variables.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "hook/modes/software_device.h"

namespace hook {

namespace {
// Attachment 0 has the plain name; the others carry their number.
std::string numbered(const char* name, unsigned index) {
    return index == 0 ? name : fmt::format("{}_{}", name, index);
}

// Lists each device once: several attachments may share one.
std::string join_devices(const std::vector<Granted>& granted, const char* suffix) {
    std::set<std::string_view> listed;
    std::string list;
    for (const Granted& g : granted) {
        if (listed.insert(g.device.name).second)
            list += (list.empty() ? "" : ",") + g.device.name + suffix;
    }
    return list;
}
}  // namespace

std::vector<Variable> variables_of(const std::vector<Granted>& granted) {
    std::vector<Variable> all;
    for (const Granted& g : granted) {
        all.push_back({numbered("RDMA_DEVICE", g.index), g.device.name});
        all.push_back({numbered("RDMA_NETDEV", g.index), g.netdev.name});
        if (!g.gid)
            continue;
        all.push_back({numbered("RDMA_GID", g.index), netns::to_string(g.gid->gid)});
        all.push_back({numbered("RDMA_GID_INDEX", g.index), std::to_string(g.gid->index)});
    }
    // "=": NCCL matches names exactly, not as prefixes.
    all.push_back({"NCCL_IB_HCA", "=" + join_devices(granted, "")});
    all.push_back({"UCX_NET_DEVICES", join_devices(granted, ":1")});
    // UCX (1.18 at least) learns from a completion's SL whether a datagram came by IPv4, as
    // ConnectX reports it there. rxe does not report it, so UCX would drop all datagrams as those
    // of another GID. rxe itself has checked their GID.
    if (std::ranges::any_of(granted, [](const Granted& g) { return g.software == kRxe.type; }))
        all.push_back({"UCX_UD_VERBS_ETH_DGID_CHECK", "n"});
    return all;
}

}  // namespace hook
