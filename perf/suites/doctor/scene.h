// SPDX-License-Identifier: Apache-2.0
// Scene: what the checks of doctor look at, gathered once: devices, GID tables, interfaces, the way
// to the peer. Plain values, so that a test can set any of them; files are read below `root` by the
// checks themselves, so that a test can put any content there. Gathering changes nothing: devices
// are opened and closed, and the control port of the peer is connected to and closed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/address/address.h"
#include "perf/system/stop.h"
#include "perf/verbs/device.h"

namespace perf {

struct LookOptions;

// An interface of this network namespace.
struct Interface {
    std::string name;
    bool up = false;
    bool carrier = false;
    uint32_t mtu = 0;  // 0: not known
};

struct PortFacts {
    uint8_t number = 1;
    bool active = false;
    bool ethernet = true;
    std::string state;        // "PORT_DOWN"
    uint32_t active_mtu = 0;  // bytes
};

struct DeviceFacts {
    std::string name;
    std::optional<Error> error;  // it cannot be opened
    std::vector<PortFacts> ports;
    bool iwarp = false;
};

struct PeerFacts {
    std::string host;
    uint16_t port = 0;
    std::vector<Address> sources;
    std::optional<Error> route_error;
    std::optional<Error> connect_error;
};

struct Scene {
    std::string root;           // before each path that is read; empty on a machine
    std::string attach_file;    // with the root
    uint64_t needed_bytes = 0;  // of memory that a run without options registers
    std::optional<Error> verbs_error;
    std::vector<DeviceFacts> devices;  // that libibverbs finds
    std::vector<Interface> interfaces;
    Candidates found;
    std::optional<PeerFacts> peer;

    [[nodiscard]] const Interface* find_interface(const std::string& name) const;

    // The interfaces of this namespace that the GIDs of a port belong to, by name, each once.
    [[nodiscard]] std::vector<const Interface*> netdevs(const std::string& device,
                                                        uint8_t port) const;
};

Scene gather(const LookOptions& options, Verbs& verbs, const Stop& stop, const std::string& root);

}  // namespace perf
