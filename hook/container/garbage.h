// SPDX-License-Identifier: Apache-2.0
// A look at what collect_garbage() (end.h) would undo, for people. No hook needs it.
#pragma once

#include "hook/container/end.h"

namespace hook {

// Returns what collect_garbage() would undo. Changes nothing, and takes no lock: another process may
// be at work on some of it. Temporary files are not among it.
Collected find_garbage(const Context& context, Deadline until);

}  // namespace hook
