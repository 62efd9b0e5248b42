// SPDX-License-Identifier: Apache-2.0
// The page that a server exposes for negative tests (target.cc), as both sides know it.
#pragma once

#include "perf/engine/link.h"

namespace perf {

// What the queue pairs of both sides let the other side do.
inline constexpr int kProbeAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

// The layout of the page: slot 0 of `in`.
Layout target_layout();

// The pattern of a round, which the client knows as well.
PatternKey target_pattern(uint64_t seed, uint32_t round);

}  // namespace perf
