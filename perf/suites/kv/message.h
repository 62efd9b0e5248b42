// SPDX-License-Identifier: Apache-2.0
// The messages of the key-value exercise (docs/rdma-perf/protocol.md), as message.h has those of
// points. A GET of method "send" is a message of 8 bytes, the key; the answer is its slot (table.h).
#pragma once

#include <string_view>

#include "perf/base/names.h"
#include "perf/engine/link.h"
#include "perf/engine/ring.h"
#include "perf/protocol/message.h"
#include "perf/suites/kv/table.h"

namespace perf {

// How a GET is done: asked of the server's thread, or read from its memory.
namespace kv {
enum class Method { Send, Read };
}

template <>
inline constexpr WordList kWords<kv::Method>{"method", {"send", "read"}};

}  // namespace perf

namespace perf::kv {

// Of a server that has these messages.
inline constexpr std::string_view kCapability = "kv";

struct Opening {
    Shape shape;
    Poll poll;
    Endpoint endpoint;
};

struct Start {
    Method method = Method::Send;
    uint32_t version = 0;  // 1 to kMaxVersion
};

Json to_json(const Opening& opening);
Json to_json(const Start& start);

Result<Opening> parse_opening(const Json& frame);  // within check_limits
Result<Start> parse_start(const Json& frame);

// Of the answer to kv_open, or kv_open itself: the one endpoint.
Result<Endpoint> the_endpoint(std::vector<Endpoint> endpoints);

// ---- how both sides use their queue pair --------------------------------------------------------
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
