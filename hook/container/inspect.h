// SPDX-License-Identifier: Apache-2.0
// Inspect: what an attachment turned out to be, found out after the fact from its endpoint by the
// container that made it and by each that joins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/request/request.h"
#include "hook/steps/plan.h"
#include "netns/link.h"
#include "netns/rdma.h"

namespace hook {

struct Granted {
    unsigned index = 0;
    std::string mode;
    Placement placement = Placement::Container;
    netns::RdmaDevice device;
    netns::Link netdev;
    std::optional<netns::GidEntry> gid;  // nothing: see Endpoint
    std::vector<netns::Address> addresses;
    std::string software = {};    // the device's driver ("rxe", "siw"); empty: hardware
    std::string port_state = {};  // of hardware: "ACTIVE", or what it stayed
    netns::CharDevice uverbs;
    std::string software_path = {};            // see Endpoint
    std::optional<netns::CharDevice> rdma_cm;  // nothing: the connection manager cannot work
};

// The RDMA device of an endpoint, and the namespace that it is seen from; Unavailable if it is not
// (any more) there.
struct FoundDevice {
    netns::RdmaDevice device;
    netns::Netns ns;
};

Result<FoundDevice> find_device(Site& site, const Endpoint& endpoint);

// Looks the endpoint up: device, netdev, nodes, GID. Unavailable if it is not (any more) there.
// GIDs come into a table asynchronously, and a VF that has come up has its carrier later: waits for
// the container's own GID, and for the port of a device of its own, on the kernel's events. A port
// that does not become ACTIVE is no error.
Result<Granted> inspect(Site& site, const Attachment& attachment, const Endpoint& endpoint);

// Lines that an operator should read at once although nothing failed.
std::vector<std::string> warnings(const std::vector<Granted>& granted);

}  // namespace hook
