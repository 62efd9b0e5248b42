// SPDX-License-Identifier: Apache-2.0
// Leftovers: what no journal knows of any more, since who would have undone it died in between or
// the journal ended with an earlier boot. Each is looked at under the lock of its attachment.
#pragma once

#include "hook/attachment.h"

namespace hook {

// What could not be undone, once each. It stands in nobody else's way.
void note_trouble(const Result<>& done, Collected& out);

// Leases and pins whose attachment is gone, and what writers that died have left half written.
void collect_files(World& world, Collected& out);

// Ports of Open vSwitch that carry our marks and belong to no journal of this boot.
void collect_ports(World& world, Collected& out);

}  // namespace hook
