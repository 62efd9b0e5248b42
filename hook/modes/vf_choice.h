// SPDX-License-Identifier: Apache-2.0
// The choice of one virtual function: from device specs to PFs and their VFs, to the first that is
// free. Read only; reads no more VFs than it must. Find and claim are one only under the lock of
// leases.
#pragma once

#include "hook/modes/mode.h"
#include "hook/steps/free_vf.h"

namespace hook {

// BadInput, Refused or Unavailable for a device that can give none; Busy if all are used, with the
// reasons. A pool's mapped functions come before its PFs.
Result<FreeVf> choose_free_vf(const Attachment& attachment, const Survey& survey);

}  // namespace hook
