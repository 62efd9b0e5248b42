// SPDX-License-Identifier: Apache-2.0
// The messages of the key-value exercise (docs/rdma-perf/protocol.md), as message.h has those of
// points. A GET of method "send" is a message of 8 bytes, the key; the answer is its slot (table.h).
#pragma once

#include <string_view>

#include "perf/base/names.h"
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

}  // namespace perf::kv
