// SPDX-License-Identifier: Apache-2.0
// Granted nodes: which device numbers containers may open, and of which RDMA device each was then.
// A rule in a cgroup is a number for as long as the container lives; the kernel gives the number of
// a device that has gone to the next one (lowest first), which may be another container's.
#pragma once

#include <string>
#include <vector>

#include "hook/container/inspect.h"
#include "hook/state/context.h"

namespace hook {

struct GrantedNode {
    std::string key;  // of the container
    netns::DeviceNumber number;
    std::string device;  // the RDMA device's name
    uint64_t node_guid = 0;
};

// Writes down what the container is about to be given, before it can open it. A number that a
// living container may open, as that of a device that went, is taken from that one; Busy where only
// its end does.
Result<> note_nodes(const Context& context,
                    const std::string& key,
                    const std::vector<Granted>& granted);
// Everything of the container that note_nodes() wrote.
Result<> forget_nodes(const Store& store, const std::string& key);

// Of all containers, or of one.
Result<std::vector<GrantedNode>> granted_nodes(const Store& store, const std::string& key = {});

// Whether the number is another device's by now, or nobody's.
Result<bool> is_stale(netns::Host& host, const GrantedNode& node);

// Takes a stale number from a container that lives. Refused, with what helps, where the runtime
// granted it, whose rules stay.
Result<> revoke(const Context& context, const Container& container, const GrantedNode& node);

}  // namespace hook
