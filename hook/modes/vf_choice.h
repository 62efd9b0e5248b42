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

// Checks that the device's function is a PF that can give VFs. An error, as above: it can give none.
Result<> check_device_has_vfs(const netns::RdmaDevice& device, const Context&, Site& site);

// Returns the address of the function that a name means: its own, or that of its netdev or RDMA
// device. Nothing: there is none on the host.
Result<std::optional<std::string>> function_named(const std::string& name, Site& site);

}  // namespace hook
