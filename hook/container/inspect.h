// SPDX-License-Identifier: Apache-2.0
// Inspect looks up the properties of an attachment that has been made, from its endpoint. The
// container that made it does so, and each container that joins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/request/request.h"
#include "hook/steps/plan.h"
#include "netns/link.h"
#include "netns/values/rdma_device.h"

namespace hook {

struct Granted {
    unsigned index = 0;
    std::string mode;
    Placement placement = Placement::Container;
    netns::RdmaDevice device;
    std::optional<netns::Link> netdev{};   // nothing: the host's device has none (EFA, InfiniBand)
    std::optional<netns::GidEntry> gid{};  // nothing: see Endpoint
    std::vector<netns::Address> addresses;
    std::string software = {};    // the device's driver ("rxe", "siw"); empty: hardware
    std::string driver = {};      // see RdmaDevices::driver(); empty: not known
    std::string port_state = {};  // of hardware: "ACTIVE", or the state in which it stayed
    netns::CharDevice uverbs{};
    std::string software_path = {};                 // see Endpoint
    std::string image_lacks = {};                   // see image_lacks() in image_verbs.h
    std::optional<netns::CharDevice> rdma_cm{};     // nothing: the connection manager cannot work
    std::vector<netns::CharDevice> mad_nodes = {};  // umad and issm: rdma.umad=on
};

// Returns the nodes of the RDMA device itself: those of verbs and of management datagrams.
std::vector<netns::CharDevice> device_nodes(const Granted& granted);
// Returns all nodes of the container, each once: several attachments may share one.
std::vector<netns::CharDevice> all_nodes(const std::vector<Granted>& granted);

// The RDMA device of an endpoint, and the namespace from which it is visible. Unavailable: it is
// not there (any more).
struct FoundDevice {
    netns::RdmaDevice device;
    netns::Netns ns;
};

Result<FoundDevice> find_device(Site& site, const Endpoint& endpoint);

// Looks the endpoint up: device, netdev, nodes, GID. Unavailable: it is not there (any more). The
// kernel fills GID tables asynchronously, and a VF that has come up gets its carrier later. So
// inspect() waits, on the kernel's events, for the container's own GID and for the port of its own
// device. A port that does not become ACTIVE is no error.
Result<Granted> inspect(Site& site, const Attachment& attachment, const Endpoint& endpoint);

// Returns lines that an operator should read at once although nothing failed.
std::vector<std::string> warnings(const std::vector<Granted>& granted);

}  // namespace hook
