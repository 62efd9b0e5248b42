// SPDX-License-Identifier: Apache-2.0
// Files and programs that decide what root does. Everybody who can write one, or move it away
// through a folder above it, has root's power.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "netns/base/result.h"

namespace base {

// Returns whether this process is root of the machine: effective uid 0 in the first user namespace.
// Root of another one (a rootless engine's) cannot make devices.
bool is_machine_root();

// Returns the advice for a path that only the caller should change. To root it names root; to others
// "USER", because in a user namespace they are root, too. `mode`: of chmod.
std::string advise_to_own(const std::string& path,
                          const char* mode,
                          bool is_root = is_machine_root());

inline constexpr size_t kMaxConfigBytes = 1U << 20U;

// The root of the search, and the owner that files must have. Tests use a folder of their own as
// root.
struct Owned {
    std::string root = "/";
    uid_t owner = 0;
};

// Returns the content of a file; nothing if there is no such file. BadConfig unless the file, and every
// folder from the root to it, belongs to the owner and is writable only by the owner. A symbolic
// link on the way is BadConfig, too. `path` is absolute. All checks are made on opened descriptors,
// never on a name again.
Result<std::optional<std::string>> read_owned_file(const std::string& path, const Owned& owned);

// Returns the kernel's path of a program; symbolic links are followed. Refused unless the program,
// and every folder from the root to it, belongs to the owner and is writable only by the owner. (In
// a folder with the sticky bit others cannot rename the owner's files.) BadConfig: it is no
// program. `path` is absolute.
Result<std::string> find_owned_program(const std::string& path, const Owned& owned);

}  // namespace base
