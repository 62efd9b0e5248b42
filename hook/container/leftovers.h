// SPDX-License-Identifier: Apache-2.0
// Leftovers: what no journal or record knows of any more, since who would have undone it died in
// between, somebody removed a record by hand, or the journal ended with an earlier boot. Each is
// looked at under the lock of its attachment or container, and left while another process has that.
#pragma once

#include "hook/container/attachment.h"

namespace hook {

// What could not be undone, once each. It stands in nobody else's way.
void note_trouble(const Result<>& done, Collected& out);

// What another process has locked, once each.
using Locked = std::vector<std::string>;

// The lock; nothing if another process has it, which is noted by `name`. For a lock that nobody
// waited for.
Result<std::optional<base::FileLock>> unless_locked(Result<base::FileLock> lock,
                                                    const std::string& name,
                                                    Locked& locked);

// Leases and pins whose attachment is gone, and what writers that died have left half written.
void collect_files(World& world, Collected& out);

// Ports of Open vSwitch that carry our marks and belong to no journal of this boot.
void collect_ports(World& world, Collected& out);

// What is written of device numbers that dead containers were given; and those that living ones may
// open though the device went: such a number is taken away, or told.
void collect_nodes(World& world, Collected& out);

}  // namespace hook
