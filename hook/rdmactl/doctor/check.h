// SPDX-License-Identifier: Apache-2.0
// The checks of rdmactl doctor. Each looks at the host for the needs of a mode. It reports a line
// for each object, with the command that repairs it. doctor.cc has the one table. A check changes
// nothing. It fails where containers that somebody asks for are refused. A check that returns an
// error could not look: its result is unknown, so the error becomes a warning.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hook/rdmactl/command.h"
#include "netns/base/findings.h"
#include "netns/values/peer_memory.h"

namespace hook::ctl {

using base::Finding;
using base::Findings;
using base::Status;

struct Look : HostView {
    const Options& options;
    std::string config_trouble;  // the reason why the configuration cannot be read; empty: it can

    // Returns the path below the root of the host that is looked at.
    [[nodiscard]] std::string at(const std::string& path) const { return options.host_root + path; }

    // True if the command line or a pool asks for the mode.
    [[nodiscard]] bool wants(std::string_view mode) const;
};

// Returns the findings of a check that has only this one.
inline Findings one(Status status, std::string why, std::string fix = {}) {
    return {{.status = status, .why = std::move(why), .fix = std::move(fix)}};
}

// Returns an error's text and remedy as a finding.
Finding finding_of(Error error, Status status);

// A mode's verdicts on the host's devices for it.
class Verdicts {
  public:
    // Notes the mode's answer about one device. `named`: a pool of the mode names the device.
    // Returns an error that is no refusal: the device could not be examined.
    Result<> note(Result<> answer, bool named);

    // Adds a finding for each refusal. It is Fail for a device that a pool names, unless the device
    // is Busy. It is Fail for each device if the mode is asked for and no device is fit. Otherwise
    // it is Warning. Does not repeat a sentence that is there already.
    void report(bool asked, Findings& found) const;

  private:
    struct Refusal {
        Error error;
        bool named = false;
    };

    std::vector<Refusal> refusals_;
    bool any_fit_ = false;
};

// True if a container has the function.
bool is_leased(const Look& look, const std::string& function);

// Returns the text of a small file of the host; empty if there is no such file.
Result<std::string> text_of(Look& look, const std::string& path);

using netns::Version;

// Returns the kernel's version.
Result<Version> kernel_version(Look& look);

// Reports on GPUs and their adapters; the whole answer of rdmactl doctor gpu (gpu.cc).
Result<Answer> doctor_gpu(Look& look);

// Checks of the kernel and its RDMA subsystem (kernel_checks.cc).
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

// Checks of interfaces, HCAs and e-switches (device_checks.cc).
Result<Findings> check_parents(Look& look);
Result<Findings> check_hcas(Look& look);
Result<Findings> check_hosts_devices(Look& look);
Result<Findings> check_offload(Look& look);

// Checks of PFs, and of the functions that modes vf and asap2 give (function_checks.cc).
Result<Findings> check_pfs(Look& look);
Result<Findings> check_vfs(Look& look);

// Checks of engines, and of what containers left (upkeep_checks.cc).
Result<Findings> check_podman(Look& look);
Result<Findings> check_docker(Look& look);
Result<Findings> check_low_level(Look& look);
Result<Findings> check_kubernetes(Look& look);
Result<Findings> check_selinux(Look& look);
Result<Findings> check_timer(Look& look);
Result<Findings> check_leftovers(Look& look);
Result<Findings> check_images(Look& look);

// Checks of the units of engines (unit_checks.cc).
Result<Findings> check_mounts(Look& look);

}  // namespace hook::ctl
