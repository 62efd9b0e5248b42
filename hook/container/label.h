// SPDX-License-Identifier: Apache-2.0
// Labels: under SELinux a container reads only what has its own label, config.json's
// linux.mountLabel. What rdma-hook shows a container gets that label before it is mounted. What
// cannot have it is not mounted: a /sys/class that the container may not read would hide the device
// that it has from its own libraries.
#pragma once

#include <string>
#include <vector>

#include "netns/base/files.h"

namespace hook {

// Labels files, folders and links. An empty label: the engine uses no SELinux, and nothing is done.
// False if one of them cannot have it, with a line for people in `notes`, which says that the
// container does without `what`.
bool label_all(base::Files& files,
               const std::vector<std::string>& paths,
               const std::string& label,
               const std::string& what,
               std::vector<std::string>& notes);

}  // namespace hook
