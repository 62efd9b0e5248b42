// SPDX-License-Identifier: Apache-2.0
// The choice of one virtual function: from device specs to PFs and their VFs, and to the first that
// is free. Read only; reads only as many VFs as it must. Choice and claim are atomic only under the
// lock of leases.
#pragma once

#include "hook/modes/mode.h"
#include "hook/steps/free_vf.h"

namespace hook {

// Returns a free function. BadInput, Refused or Unavailable: the device can give none. Busy: all
// are used; the error has the reasons. A pool's mapped functions come before its PFs.
Result<FreeVf> choose_free_vf(const Attachment& attachment, const Survey& survey);

}  // namespace hook
