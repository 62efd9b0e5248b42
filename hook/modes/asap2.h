// SPDX-License-Identifier: Apache-2.0
// Refusals of mode asap2 that do not depend on the annotations.
#pragma once

#include "hook/modes/virtual_function.h"

namespace hook {

// Refused: the VF's own RDMA device is one of iWARP.
Result<> check_roce(const ChosenVf& chosen);

}  // namespace hook
