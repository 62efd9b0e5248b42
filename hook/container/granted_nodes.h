// SPDX-License-Identifier: Apache-2.0
// Granted nodes: the device numbers that containers may open, and the RDMA device behind each
// number at that time. A rule in a cgroup names a number for as long as the container lives. When a
// device goes, the kernel gives its number to the next device (lowest first), which may be another
// container's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/inspect.h"
#include "hook/state/context.h"

namespace hook {

struct GrantedNode {
    std::string key;  // the container's
    netns::DeviceNumber number;
    std::string device;             // the RDMA device's name
    uint64_t node_guid = 0;         // 0: the driver gives none (EFA), and the index tells
    std::optional<uint32_t> index;  // the RDMA device's; nothing: written by an earlier version
    std::string file;               // its name in nodes/
};

// Records a container's device numbers before the container can open them. If a living container
// may open the number of a device that went, that container loses it. Busy: only that container's
// end takes the number from it.
Result<> note_nodes(const Context& context,
                    const std::string& key,
                    const std::vector<Granted>& granted);
// Removes everything that note_nodes() wrote for the container.
Result<> forget_nodes(const Store& store, const std::string& key);

// Returns the nodes of one container, or of all containers if `key` is empty.
Result<std::vector<GrantedNode>> granted_nodes(const Store& store, const std::string& key = {});

// True if the number belongs to another device by now, or to none.
Result<bool> is_stale(netns::Host& host, const GrantedNode& node);

// Takes a stale number from a living container. Refused, with advice: the runtime granted the
// number, and the runtime's rules stay.
Result<> revoke(const Context& context, const Container& container, const GrantedNode& node);

}  // namespace hook
