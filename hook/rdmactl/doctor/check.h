// SPDX-License-Identifier: Apache-2.0
// The checks of rdmactl doctor: each looks at the host for what lets a mode work, and says what it
// found, a line for each object, with the command that mends it. doctor.cc has the one table. A
// check changes nothing. It fails where containers that somebody asks for are refused; an error of
// its own (it could not look) becomes a warning, for then nobody knows.
#pragma once

#include <string>
#include <string_view>

#include "hook/rdmactl/command.h"
#include "netns/base/findings.h"

namespace hook::ctl {

using base::Finding;
using base::Findings;
using base::Status;

struct Look {
    const Context& context;
    Site& site;
    const Options& options;
    std::string config_trouble;  // why the configuration cannot be read; empty: it can

    // Below the root of the host that is looked at.
    [[nodiscard]] std::string at(const std::string& path) const { return options.host_root + path; }

    // Somebody asks for the mode: the command line, or a pool.
    [[nodiscard]] bool wants(std::string_view mode) const;
};

// What an error says, and what mends it.
Finding finding_of(base::Error error, Status status);

// Whether a container has the function.
bool is_leased(const Look& look, const std::string& function);

// The text of a small file of the host; empty if there is no such file.
Result<std::string> text_of(Look& look, const std::string& path);

// The kernel and its RDMA subsystem (kernel_checks.cc).
Result<Findings> check_config_file(Look& look);
Result<Findings> check_release(Look& look);
Result<Findings> check_uverbs(Look& look);
Result<Findings> check_rdma_ucm(Look& look);
Result<Findings> check_rxe(Look& look);
Result<Findings> check_siw(Look& look);
Result<Findings> check_macvlan(Look& look);
Result<Findings> check_netns_mode(Look& look);
Result<Findings> check_gids(Look& look);
Result<Findings> check_memlock(Look& look);
Result<Findings> check_cgroups(Look& look);

// Interfaces, HCAs and e-switches (device_checks.cc).
Result<Findings> check_parents(Look& look);
Result<Findings> check_hcas(Look& look);
Result<Findings> check_offload(Look& look);

// PFs, and the functions that modes vf and asap2 give (function_checks.cc).
Result<Findings> check_pfs(Look& look);
Result<Findings> check_vfs(Look& look);

// Engines, and what containers left (upkeep_checks.cc).
Result<Findings> check_podman(Look& look);
Result<Findings> check_docker(Look& look);
Result<Findings> check_kubernetes(Look& look);
Result<Findings> check_selinux(Look& look);
Result<Findings> check_timer(Look& look);
Result<Findings> check_leftovers(Look& look);

// The units of engines (unit_checks.cc).
Result<Findings> check_mounts(Look& look);

}  // namespace hook::ctl
