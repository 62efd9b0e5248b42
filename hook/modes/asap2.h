// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/modes/virtual_function.h"

namespace hook {

extern const Mode kAsap2;

// Refused: the VF's own RDMA device is one of iWARP.
Result<> check_roce(const ChosenVf& chosen);

}  // namespace hook
