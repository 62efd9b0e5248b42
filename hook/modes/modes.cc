// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/mode.h"

namespace hook {

Result<Scope> scope_in_container(const Attachment& attachment, Site&) {
    return Scope{Where::Container,
                 attachment.parent == kContainerParent ? attachment.parent : attachment.ifname};
}

const Mode* find_mode(std::string_view name) {
    for (const Mode* mode : kAllModes) {
        if (mode->name == name)
            return mode;
    }
    return nullptr;
}

}  // namespace hook
