// SPDX-License-Identifier: Apache-2.0
// Tells the neighbours where a container's addresses are. An address that comes with another MAC
// each time, as it does on a VF, is otherwise sent to the last one's for half a minute and longer.
// Once the container exists, and not earlier: inspect() has waited for the port of a VF by then,
// and without a carrier nothing would be sent.
#pragma once

#include "hook/container/attachment.h"

namespace hook {

// Best effort: a failure is logged and keeps no container from running.
void announce_addresses(World& world, const Container& container);
// The same of one attachment, by the head of its journal.
void announce_addresses(World& world, const Journal& journal);

}  // namespace hook
