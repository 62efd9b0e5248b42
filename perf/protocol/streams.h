// SPDX-License-Identifier: Apache-2.0
// Streams: the data connections of a TCP point, made beside its control connection. The server
// listens on a port of its own and tells it with a secret number; the client connects once for each
// stream and says "RDT1", the stream's number (32 bit) and the secret (64 bit), big endian. Whoever
// says something else, or nothing, is a stranger and disturbs nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "perf/protocol/control.h"
#include "perf/protocol/message.h"
#include "perf/system/tcp.h"

namespace perf {

using Streams = std::vector<UniqueFd>;  // by number; connected, non-blocking

// Of the server.
class StreamDoor {
  public:
    // The control connection must live longer.
    static Result<StreamDoor> open(const Control& control);

    // For a client of a server that polls like this.
    [[nodiscard]] StreamOffer offer(const Poll& poll) const {
        return {.port = listener_.port, .secret = secret_, .poll = poll};
    }

    // Waits for `count` streams. Ends as well when the control connection does.
    Result<Streams> admit(uint32_t count, const Deadline& deadline);

  private:
    StreamDoor(const Control& control, Listener listener, uint64_t secret)
        : control_(&control), listener_(std::move(listener)), secret_(secret) {}

    const Control* control_;
    Listener listener_;
    uint64_t secret_;
};

// Of the client.
Result<Streams> dial_streams(const Control& control,
                             const StreamOffer& offer,
                             uint32_t count,
                             const Deadline& deadline);

}  // namespace perf
