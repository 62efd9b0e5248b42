// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/mode.h"

namespace hook {

const Mode* find_mode(std::string_view name) {
    for (const Mode* mode : {&kSoftroce, &kSoftiwarp, &kShared, &kVf, &kAsap2, &kHost}) {
        if (mode->name == name)
            return mode;
    }
    return nullptr;
}

}  // namespace hook
