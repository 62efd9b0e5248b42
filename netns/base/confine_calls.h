// SPDX-License-Identifier: Apache-2.0
// The tables of system calls that a confined process may make, and of those that kill it.
// confine_generator.cc makes filters of them at build time, and tests read them; they are in no
// program. A call in neither table answers ENOSYS.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netns/base/confine.h"

namespace base {

// The low 32 bits of an argument. The kernel looks at no others in the arguments that are listed.
struct Argument {
    unsigned index;  // from 0
    uint32_t mask;
    uint32_t value;
};

// Stands for the pid of the process itself, which is known when the filter is loaded. No process
// has this number.
inline constexpr uint32_t kOwnPid = 0x7fff7261;

struct AllowedCall {
    std::string name;
    std::string why;
    std::vector<Argument> arguments = {};  // all must match; empty: any arguments
    bool denied = false;                   // answers ENOSYS, and is not logged
};

struct CallGroup {
    std::string name;
    std::vector<Profile> profiles;
    std::vector<AllowedCall> calls;
};

struct ForbiddenCalls {
    std::string why;
    std::vector<std::string> names;
};

const std::vector<CallGroup>& allowed_calls();

// Returns all calls that a program with this profile may make.
std::vector<AllowedCall> calls_of(Profile profile);

// Returns the calls that kill. A program makes one of them only if its own list has it: not by a
// mistake, and not through a newer library.
const std::vector<ForbiddenCalls>& forbidden_calls();

}  // namespace base
