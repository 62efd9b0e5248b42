// SPDX-License-Identifier: Apache-2.0
// What must hold whatever the input is.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace fuzz {

// Ends the process, which is how libFuzzer learns of a finding.
inline void expect(bool good, const char* what) {
    if (good)
        return;
    (void)std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace fuzz
