// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/modes/mode.h"

namespace hook {

extern const Mode kAsap2;

}  // namespace hook
