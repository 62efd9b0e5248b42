// SPDX-License-Identifier: Apache-2.0
// Live: the whole attach in one hook (prestart or createRuntime), while the container's init waits:
// for bare runc and crun bundles, and engines that have no stage before `create`. Plans are those
// of every attach; what half 1 would have declared in config.json is granted to the container that
// is there, by steps in its record (Container::grants): devices by its cgroup, nodes and
// attach.json as mounts, memlock. Environment variables and a view of /sys/class cannot be given
// any more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/container/phases.h"

namespace hook {

// Container state in; notes for the person at the terminal out. Nothing happens for a container
// without rdma.*, one that half 1 has prepared, and one that has been attached already (prestart
// and createRuntime may both be listed).
Result<std::vector<std::string>> attach_live(std::string_view input, const Call& call);

// poststop of such a container: the record is found by its bundle, else by its id, below
// `state_dir` of the call or of the configuration.
Result<> leave_live(std::string_view input, const Call& call);

struct Regranted {
    std::vector<std::string> containers;  // keys of those whose devices had been taken away
    std::vector<std::string> locked;      // "container KEY": another process is at work on it
    std::vector<std::string> trouble;
};

// Allows the living containers their devices anew, where somebody has replaced the programs of
// their cgroups since: systemd at daemon-reload. Waits for no lock; a container that cannot be
// looked at keeps no other from its devices.
Regranted regrant(World& world);

}  // namespace hook
