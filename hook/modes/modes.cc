// SPDX-License-Identifier: Apache-2.0
// The one table of modes.
#include <array>

#include "hook/modes/asap2.h"
#include "hook/modes/mode.h"
#include "hook/modes/shared.h"
#include "hook/modes/softiwarp.h"
#include "hook/modes/softroce.h"
#include "hook/modes/vf.h"

namespace hook {

namespace {
constexpr std::array<const Mode*, 5> kModes = {&kSoftroce, &kSoftiwarp, &kShared, &kVf, &kAsap2};
}

std::span<const Mode* const> all_modes() {
    return kModes;
}

const Mode* find_mode(std::string_view name) {
    for (const Mode* mode : kModes) {
        if (mode->name == name)
            return mode;
    }
    return nullptr;
}

}  // namespace hook
