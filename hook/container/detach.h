// SPDX-License-Identifier: Apache-2.0
// Detach takes from a running container what rdmactl attach gave it. It undoes the same steps as the
// container's end, with one difference: the container goes on, and may be using them.
#pragma once

#include "hook/state/context.h"

namespace hook {

// Takes everything back, and removes the container's record. A process that dies on the way leaves
// the rest to gc and to the next detach.
//
// Refused: the container has its RDMA from its start. Busy: a process of the container has a device
// open; the message names it, and nothing has changed. Any other error: the record or a journal
// stays with what could not be undone, for gc.
Result<> detach_container(const Context& context, const std::string& key);

}  // namespace hook
