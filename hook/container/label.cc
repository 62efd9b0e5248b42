// SPDX-License-Identifier: Apache-2.0
#include "hook/container/label.h"

#include <fmt/format.h>

namespace hook {

bool label_all(base::Files& files,
               const std::vector<std::string>& paths,
               const std::string& label,
               const std::string& what,
               std::vector<std::string>& notes) {
    if (label.empty())
        return true;
    for (const std::string& path : paths) {
        if (const auto done = files.set_label(path, label); !done) {
            notes.push_back(fmt::format(
                "the container does without {}: {}; see why: ausearch -m avc -ts recent",
                what,
                done.error().message()));
            return false;
        }
    }
    return true;
}

}  // namespace hook
