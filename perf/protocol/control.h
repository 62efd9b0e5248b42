// SPDX-License-Identifier: Apache-2.0
// Control: one end of a control connection. A frame is the four bytes "RDP1", the length of its
// body (32 bit, big endian, at most 64 KiB) and the body, one JSON object with a member "type".
// Every step has a deadline and ends on a Stop. Nothing of a frame is trusted: message.h checks
// each value.
//
// Errors: Code::Unavailable when the peer is gone, Code::Timeout, Code::BadInput for bytes that are
// no frame.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "perf/system/stop.h"

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

}  // namespace perf
