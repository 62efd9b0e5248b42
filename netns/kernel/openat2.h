// SPDX-License-Identifier: Apache-2.0
// openat2(2), for which libraries have no function: looks a path up as a descriptor (O_PATH), so
// that nothing is opened by the look. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <string>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/names.h"

namespace netns {

inline UniqueFd look_up(int folder, const std::string& path, uint64_t flags, uint64_t resolve) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC | flags;
    how.resolve = resolve;
    return UniqueFd{
        static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how))};
}

}  // namespace netns
