// SPDX-License-Identifier: Apache-2.0
// Control: one end of a control connection. A frame is the four bytes "RDP1", the length of its
// body (32 bit, big endian, at most 64 KiB) and the body, one JSON object with a member "type".
// Every step has a deadline and ends on a Stop. Nothing of a frame is trusted: message.h checks
// each value.
//
// Errors: Code::Unavailable when the peer is gone, Code::Timeout, Code::BadInput for bytes that are
// no frame.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "perf/protocol/message.h"
#include "perf/system/stop.h"
#include "perf/system/tcp.h"

namespace perf {

inline constexpr std::string_view kFrameMagic = "RDP1";
inline constexpr size_t kFrameHeader = 8;
inline constexpr size_t kFrameLimit = 64 * 1024;

// Header and body of a frame; for tests as well. Code::Internal if the body is too large.
Result<std::string> encode_frame(const Json& body);

// The length of the body that follows an 8-byte header.
Result<size_t> decode_header(std::string_view header);

class Control {
  public:
    Control(UniqueFd fd, const Stop& stop) : fd_(std::move(fd)), stop_(&stop) {}

    Result<> send(const Json& body, const Deadline& deadline);

    // The next frame, whatever its type.
    Result<Json> receive(const Deadline& deadline);

    // The next frame, which must have the type; an "error" frame of the peer becomes that error.
    Result<Json> expect(std::string_view type, const Deadline& deadline);

    // send, then expect.
    Result<Json> ask(const Json& body, std::string_view reply, const Deadline& deadline);

    [[nodiscard]] int fd() const { return fd_.get(); }

    [[nodiscard]] const Stop& stop() const { return *stop_; }

  private:
    Result<std::string> read_exactly(size_t bytes, const Deadline& deadline);

    UniqueFd fd_;
    const Stop* stop_;
};

// ---- streams ------------------------------------------------------------------------------------
// The data connections of a TCP point, made beside its control connection. The server listens on a
// port of its own and tells it with a secret number; the client connects once for each stream and
// says "RDT1", the stream's number (32 bit) and the secret (64 bit), big endian. Whoever says
// something else, or nothing, is a stranger and disturbs nobody.
using Streams = std::vector<UniqueFd>;  // by number; connected, non-blocking

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
    // A connection that has not said yet who it is.
    struct Caller {
        UniqueFd fd;
        std::array<std::byte, 16> said{};
        size_t length = 0;
        bool gone = false;
    };

    StreamDoor(const Control& control, Listener listener, uint64_t secret)
        : control_(&control), listener_(std::move(listener)), secret_(secret) {}

    Result<> wait(const Deadline& deadline);
    Result<> take_callers();
    void hear(Caller& caller);

    const Control* control_;
    Listener listener_;
    uint64_t secret_;
    Streams streams_;
    std::list<Caller> callers_;
};

Result<Streams> dial_streams(const Control& control,
                             const StreamOffer& offer,
                             uint32_t count,
                             const Deadline& deadline);

}  // namespace perf
