// SPDX-License-Identifier: Apache-2.0
// Refusals of mode asap2 that do not depend on the annotations.
#pragma once

#include "hook/modes/virtual_function.h"

namespace hook {

// Checks that the VF's own RDMA device can be used. Refused: it is an iWARP device.
Result<> check_roce(const ChosenVf& chosen);

}  // namespace hook
