// SPDX-License-Identifier: Apache-2.0
// doctor: checks over one scene. Each says what it found, in one line for each object (device,
// port), with the change that repairs it. A check never waits, never changes anything, and never
// fails itself: what it cannot see is a warning.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/findings.h"
#include "perf/report/suite.h"
#include "perf/verbs/device.h"

namespace perf {

// ---- what the checks look at, gathered once -----------------------------------------------------
// Plain values, so that a test can set any of them. Files are read below `root` by the checks.
// Gathering changes nothing: devices are opened and closed, and so is a connection to the peer.

struct Interface {
    std::string name;
    bool up = false;
    bool carrier = false;
    uint32_t mtu = 0;                  // 0: not known
    Result<uint8_t> pfc = uint8_t{0};  // the priorities that have it, a bit for each
};

struct PortFacts {
    uint8_t number = 1;
    bool active = false;
    bool ethernet = true;
    std::string state;        // "PORT_DOWN"
    uint32_t active_mtu = 0;  // bytes
    bool grh = false;         // InfiniBand: the port demands a GRH in each packet
};

struct DeviceFacts {
    std::string name;
    std::optional<Error> error;  // it cannot be opened
    std::vector<PortFacts> ports;
    bool iwarp = false;
    bool software = false;
    Identity identity = {};
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

    // The interfaces of this namespace that the GIDs of a port belong to, by name, each once.
    [[nodiscard]] std::vector<const Interface*> netdevs(const std::string& device,
                                                        uint8_t port) const;
};

Scene gather(const LookOptions& options, Verbs& verbs, const Stop& stop, const std::string& root);

// ---- checks -------------------------------------------------------------------------------------
using base::Diagnosis;
using base::Finding;
using base::Findings;
using base::Status;

struct Check {
    std::string_view id;  // an interface: in --json
    Findings (*look)(const Scene& scene);
};

// Findings of one line.
inline Findings ok(std::string why) {
    return {{Status::Ok, std::move(why), ""}};
}

inline Findings warning(std::string why, std::string fix) {
    return {{Status::Warning, std::move(why), std::move(fix)}};
}

inline Findings fail(std::string why, std::string fix) {
    return {{Status::Fail, std::move(why), std::move(fix)}};
}

inline Findings skipped(std::string why) {
    return {{Status::Skipped, std::move(why), ""}};
}

// The tables of checks, in the order in which they are to be read: what comes first explains what
// comes later.
extern const std::span<const Check> kDeviceChecks;   // with ports, what rdma-hook said, the peer
extern const std::span<const Check> kAdapterChecks;  // of hardware, and what is around it
extern const std::span<const Check> kLimitChecks;    // of the process and the machine

std::vector<Diagnosis> examine(const Scene& scene);

Json to_json(const std::vector<Diagnosis>& diagnoses, const std::string& peer);

}  // namespace perf
