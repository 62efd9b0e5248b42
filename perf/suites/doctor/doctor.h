// SPDX-License-Identifier: Apache-2.0
// doctor: checks over one scene, and their layout for people and programs. Each check looks at a
// Scene and says what it found, in one line for each object (device, port), with the change that
// repairs it. doctor.cc has the one table that names them. A check never waits, never changes
// anything, and never fails itself: what it cannot see is a warning.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/findings.h"
#include "perf/report/suite.h"
#include "perf/suites/doctor/scene.h"

namespace perf {

using base::Diagnosis;
using base::Finding;
using base::Findings;
using base::Status;

struct Check {
    std::string_view id;  // an interface: in --json
    Findings (*look)(const Scene& scene);
};

// Findings of one line.
Findings ok(std::string why);
Findings warning(std::string why, std::string fix);
Findings fail(std::string why, std::string fix);
Findings skipped(std::string why);

// Devices (device_checks.cc).
Findings check_kernel(const Scene& scene);
Findings check_nodes(const Scene& scene);
Findings check_rdma_cm(const Scene& scene);
Findings check_abi(const Scene& scene);
Findings check_libibverbs(const Scene& scene);
Findings check_access(const Scene& scene);

// Ports, their netdevs and GIDs (port_checks.cc).
Findings check_port(const Scene& scene);
Findings check_netdev(const Scene& scene);
Findings check_mtu(const Scene& scene);
Findings check_gid_table(const Scene& scene);
Findings check_gid(const Scene& scene);

// What rdma-hook said, and the peer (peer_checks.cc).
Findings check_attachment(const Scene& scene);
Findings check_route(const Scene& scene);
Findings check_peer(const Scene& scene);

// Limits of the process and the machine (limit_checks.cc).
Findings check_memlock(const Scene& scene);
Findings check_rdma_cgroup(const Scene& scene);
Findings check_cpu_quota(const Scene& scene);
Findings check_cores(const Scene& scene);
Findings check_clock(const Scene& scene);

// ---- all of them --------------------------------------------------------------------------------
// The table of checks, in the order in which they are to be read: what comes first explains what
// comes later.
std::span<const Check> all_checks();

std::vector<Diagnosis> examine(const Scene& scene);

// Members of a document of kind "doctor".
Json to_json(const std::vector<Diagnosis>& diagnoses, const std::string& peer);

extern const Suite kDoctor;

Exit doctor(const LookOptions& look, const Surroundings& around);

}  // namespace perf
