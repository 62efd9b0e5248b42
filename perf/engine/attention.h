// SPDX-License-Identifier: Apache-2.0
// Attention: how a thread that holds control connections waits while crews work.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "perf/engine/crew.h"
#include "perf/protocol/control.h"

namespace perf {

// One control connection and the crew whose peer is at its other end.
struct Watched {
    const Control* control = nullptr;
    Crew* crew = nullptr;
};

struct Attention {
    enum class Cause { Done, TimeUp, Spoken, Failed } cause = Cause::Done;
    size_t index = 0;  // Spoken, Failed: of the watched one
};

// Until done() (asked at first, and whenever a worker has news), until `until_ns` of now_ns(),
// until a peer says something or goes, or a worker fails. done() is also asked while `wake_fd` is
// readable. Stopped: the error of stop.h.
Result<Attention> attend(std::span<const Watched> watched,
                         uint64_t until_ns,
                         const std::function<bool()>& done,
                         int wake_fd = -1);

}  // namespace perf
