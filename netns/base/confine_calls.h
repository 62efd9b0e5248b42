// SPDX-License-Identifier: Apache-2.0
// The tables of what a confined process may ask the kernel for, and of what kills it. Read by
// confine_generator.cc, which makes filters of them at build time, and by tests; no program has
// them. A call that stands in neither answers ENOSYS.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netns/base/confine.h"

namespace base {

// The low 32 bits of an argument: all that the kernel looks at in those that are listed.
struct Argument {
    unsigned index;  // from 0
    uint32_t mask;
    uint32_t value;
};

// As a value: the pid of the process itself, which is known when the filter is loaded. No process
// has this number.
inline constexpr uint32_t kOwnPid = 0x7fff7261;

struct AllowedCall {
    std::string name;
    std::string why;
    std::vector<Argument> arguments = {};  // all of them must be so; empty: whatever they are
    bool denied = false;                   // answers ENOSYS, and the kernel's log has no word of it
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

// All that a program with this profile may call.
std::vector<AllowedCall> calls_of(Profile profile);

// No program makes these but as its own list has them: not by a mistake, nor by a newer library.
const std::vector<ForbiddenCalls>& forbidden_calls();

}  // namespace base
