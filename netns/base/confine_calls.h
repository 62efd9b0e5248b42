// SPDX-License-Identifier: Apache-2.0
// The table of what a confined process may ask the kernel for. Read by confine_generator.cc, which
// makes filters of it at build time, and by tests; no program has it.
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

struct AllowedCall {
    std::string name;
    std::string why;
    std::vector<Argument> arguments = {};  // all of them must be so; empty: whatever they are
    int answer = 0;                        // an errno that the kernel answers instead of doing it
};

struct CallGroup {
    std::string name;
    std::vector<Profile> profiles;
    std::vector<AllowedCall> calls;
};

const std::vector<CallGroup>& allowed_calls();

}  // namespace base
