// SPDX-License-Identifier: Apache-2.0
#include "hook/container/variables.h"

#include <algorithm>
#include <optional>
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

// Returns the index that the GIDs of all attachments have; nothing if they differ or one has none.
std::optional<uint32_t> common_gid_index(const std::vector<Granted>& granted) {
    std::set<std::optional<uint32_t>> indexes;
    for (const Granted& g : granted)
        indexes.insert(g.gid ? std::optional{g.gid->index} : std::nullopt);
    return indexes.size() == 1 ? *indexes.begin() : std::nullopt;
}
}  // namespace

std::vector<Variable> variables_of(const std::vector<Granted>& granted) {
    std::vector<Variable> all;
    for (const Granted& g : granted) {
        all.push_back({numbered("RDMA_DEVICE", g.index), g.device.name});
        if (g.netdev)
            all.push_back({numbered("RDMA_NETDEV", g.index), g.netdev->name});
        if (!g.gid)
            continue;
        all.push_back({numbered("RDMA_GID", g.index), netns::to_string(g.gid->gid)});
        all.push_back({numbered("RDMA_GID_INDEX", g.index), std::to_string(g.gid->index)});
    }
    // "=": NCCL matches names exactly, not as prefixes.
    all.push_back({"NCCL_IB_HCA", "=" + join_devices(granted, "")});
    all.push_back({"UCX_NET_DEVICES", join_devices(granted, ":1")});
    // Both libraries have one index for all devices. Without it they take the first GID of IPv4 in
    // the table, which on an HCA that others share is another's.
    if (const auto index = common_gid_index(granted)) {
        all.push_back({"NCCL_IB_GID_INDEX", std::to_string(*index)});
        all.push_back({"UCX_IB_GID_INDEX", std::to_string(*index)});
    }
    // UCX (1.18 at least) learns from a completion's SL whether a datagram came by IPv4, as
    // ConnectX reports it there. rxe does not report it, so UCX would drop all datagrams as those
    // of another GID. rxe itself has checked their GID.
    if (std::ranges::any_of(granted, [](const Granted& g) { return g.software == kRxe.type; }))
        all.push_back({"UCX_UD_VERBS_ETH_DGID_CHECK", "n"});
    return all;
}

std::string settings_text(const SettingsFile& file, const std::vector<Variable>& variables) {
    std::string text = "# RDMA of this container, by rdma-hook; the environment comes first\n";
    for (const Variable& variable : variables) {
        if (variable.name.starts_with(file.prefix))
            text += fmt::format("{}={}\n", variable.name, variable.value);
    }
    return text;
}

}  // namespace hook
