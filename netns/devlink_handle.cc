// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "netns/devlink.h"

namespace netns {

bool is_devlink_handle(std::string_view text) {
    // Names of the kernel's buses and devices: no blanks, no control characters.
    const auto known = [](char c) { return c > ' ' && c <= '~' && c != '/'; };
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return false;
    const std::string_view bus = text.substr(0, slash);
    const std::string_view device = text.substr(slash + 1);
    return !bus.empty() && !device.empty() && text.find("..") == std::string_view::npos &&
           std::all_of(bus.begin(), bus.end(), known) &&
           std::all_of(device.begin(), device.end(), known);
}

}  // namespace netns
