// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/tag.h"

#include <cstring>

#include <endian.h>

namespace perf {

namespace {
constexpr std::array<char, 4> kTagMagic = {'R', 'P', 'C', 'M'};
constexpr uint16_t kTagVersion = 1;

struct TagWire {
    std::array<char, 4> magic;
    uint16_t version;
    uint16_t lane;
    uint64_t nonce;
};

static_assert(sizeof(TagWire) == kCmTagSize);
}  // namespace

std::array<std::byte, kCmTagSize> encode(const CmTag& tag) {
    const TagWire wire = {kTagMagic, htobe16(kTagVersion), htobe16(tag.lane), htobe64(tag.nonce)};
    std::array<std::byte, kCmTagSize> out{};
    std::memcpy(out.data(), &wire, sizeof wire);
    return out;
}

std::optional<CmTag> decode_tag(std::span<const std::byte> data) {
    TagWire wire{};
    if (data.size() < sizeof wire)
        return std::nullopt;
    std::memcpy(&wire, data.data(), sizeof wire);
    if (wire.magic != kTagMagic || be16toh(wire.version) != kTagVersion)
        return std::nullopt;
    return CmTag{.nonce = be64toh(wire.nonce), .lane = be16toh(wire.lane)};
}

}  // namespace perf
