// SPDX-License-Identifier: Apache-2.0
// Reads a file that decides what root does: whoever can write it, or move it away through one of
// the folders above it, is root. Looks at what it opened, never at a name again.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "netns/base/result.h"

namespace base {

inline constexpr size_t kMaxConfigBytes = 1U << 20U;

// Where a file is looked for and who must own it; tests have a folder of their own for "/".
struct Owned {
    std::string root = "/";
    uid_t owner = 0;
};

// The content; nothing if there is no such file. BadConfig unless the file and every folder above
// it (from the root on) belong to the owner and can be written by nobody else, and none of them is
// a symbolic link. `path` is absolute.
Result<std::optional<std::string>> read_owned_file(const std::string& path, const Owned& owned);

}  // namespace base
