// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/udev.h"

#include <algorithm>

#include "netns/kernel/sysfs.h"

namespace netns {

bool udev_owes_name(const std::string& run, uint32_t ifindex) {
    const auto folder = SysTree::at(run);
    if (!folder)
        return false;
    const auto names = folder->list(".");
    if (!names || std::ranges::find(*names, "control") == names->end())
        return false;
    const auto entry = folder->read("data/n" + std::to_string(ifindex));
    if (!entry)
        return false;  // the entry cannot be read
    if (!*entry)
        return true;
    // During the renaming the entry says so; newer versions mark all of udev's work.
    return (*entry)->find("E:ID_RENAMING=1") != std::string::npos ||
           (*entry)->find("E:ID_PROCESSING=1") != std::string::npos;
}

}  // namespace netns
