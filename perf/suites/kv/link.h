// SPDX-License-Identifier: Apache-2.0
// How both sides of the key-value exercise use their queue pair.
#pragma once

#include "perf/engine/link.h"
#include "perf/engine/ring.h"

namespace perf::kv {

inline constexpr uint32_t kReceives = 4;  // that may be posted

// `message`: bytes of what this side sends. `access`: what the other side may do.
inline LinkOptions link_options(size_t message, int access) {
    constexpr size_t kInlineMessage = 220;  // of the answers; a request always fits
    return {.sends = 4 * kSignalEvery,
            .receives = kReceives,
            .inline_bytes = message <= kInlineMessage ? static_cast<uint32_t>(message) : 0,
            .access = access};
}

// `before`: messages of the trial before it. Its completions, now and then, have id 0.
inline int send_message(Link& link, ibv_sge from, uint64_t before) noexcept {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.send_flags = before % kSignalEvery == 0 ? IBV_SEND_SIGNALED : 0;
    return link.send(request, from);
}

}  // namespace perf::kv
