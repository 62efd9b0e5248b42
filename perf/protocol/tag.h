// SPDX-License-Identifier: Apache-2.0
// What a connect request carries as private data, 16 bytes, big endian: the four bytes "RPCM", the
// version (16 bit, 1), the lane (16 bit) and the listener's nonce (64 bit). InfiniBand and RoCE
// deliver 56 bytes, with zeros behind it; iWARP as many as were sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace perf {

inline constexpr size_t kCmTagSize = 16;

struct CmTag {
    uint64_t nonce = 0;
    uint16_t lane = 0;

    bool operator==(const CmTag&) const = default;
};

std::array<std::byte, kCmTagSize> encode(const CmTag& tag);

// How a client finds a listener, and shows that it is the one that was told of it.
struct CmTicket {
    uint16_t port = 0;
    uint64_t nonce = 0;    // random; against mistakes and strangers, not against who reads the wire
    bool confirm = false;  // the client sends nothing before the server says that accept() is done
};

// Nothing if it is too short, or of somebody else or another version.
std::optional<CmTag> decode_tag(std::span<const std::byte> data);

}  // namespace perf
