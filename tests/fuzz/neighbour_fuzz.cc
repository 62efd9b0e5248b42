// SPDX-License-Identifier: Apache-2.0
// Frames of ARP and neighbour discovery, which any station of the network may send. A station that
// is taken for the owner of an address says so of that very address; nothing is read behind an end.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "netns/kernel/neighbour_packet.h"
#include "tests/fuzz/expect.h"

namespace {
using netns::Address;
using netns::Family;
using netns::Mac;

constexpr Mac kOwn{{0x02, 0, 0x5e, 0x10, 0, 1}};

// With the Ethernet header before them; by RFC 826, and by RFC 8200 and RFC 4861.
constexpr size_t kFrameSender = 6;
constexpr size_t kArpSender = 22;
constexpr size_t kArpSenderIp = 28;
constexpr size_t kArpTargetIp = 38;
constexpr size_t kDiscoveryTarget = 62;

bool stands_at(std::span<const uint8_t> frame, size_t at, std::span<const uint8_t> bytes) {
    return frame.size() >= at + bytes.size() &&
           std::ranges::equal(frame.subspan(at, bytes.size()), bytes);
}

bool stands_at(std::span<const uint8_t> frame, size_t at, const Address& address) {
    return stands_at(
        frame, at, std::span{address.bytes}.first(netns::address_bytes(address.family)));
}

// An address of the frame, if it is one that could be asked for.
std::optional<Address> address_at(std::span<const uint8_t> frame, size_t at, Family family) {
    const size_t size = netns::address_bytes(family);
    if (frame.size() < at + size)
        return std::nullopt;
    Address address{.family = family, .bytes = {}, .prefix = static_cast<uint8_t>(8 * size)};
    std::ranges::copy(frame.subspan(at, size), address.bytes.begin());
    return netns::is_host_address(address) ? std::optional{address} : std::nullopt;
}

bool is_about(std::span<const uint8_t> frame, const Address& address) {
    if (address.family == Family::V6)
        return stands_at(frame, kDiscoveryTarget, address);
    return stands_at(frame, kArpSenderIp, address) ||
           (stands_at(frame, kArpSenderIp, Address{}) && stands_at(frame, kArpTargetIp, address));
}

void ask(std::span<const uint8_t> frame, const Address& address) {
    const auto owner = netns::claimant(frame, kOwn, address);
    if (!owner)
        return;
    const bool v4 = address.family == Family::V4;
    fuzz::expect(stands_at(frame, v4 ? kArpSender : kFrameSender, owner->bytes),
                 "the owner is who says so");
    fuzz::expect(*owner != kOwn, "what we say ourselves is nobody else's claim");
    fuzz::expect(!netns::claimant(frame, *owner, address), "and so for everybody");
    fuzz::expect(is_about(frame, address), "it is about the address that was asked for");
    Address other = address;
    uint8_t& last = other.bytes[netns::address_bytes(other.family) - 1];
    last = static_cast<uint8_t>(last ^ 1U);
    fuzz::expect(!netns::claimant(frame, kOwn, other), "and about no other");
    for (const auto& said : {netns::announcement(*owner, address), netns::probe(*owner, address)})
        fuzz::expect(netns::claimant(said, kOwn, address) == owner,
                     "said in our words, it is heard");
}
}  // namespace

FUZZ_TARGET(neighbour) {
    // Of its very size, so that the sanitizer sees what is read behind its end.
    const std::vector<uint8_t> frame(data, data + size);
    for (const char* text : {"10.9.0.1", "fd00:9::1"})
        ask(frame, *netns::parse_ip(text));
    for (const size_t at : {kArpSenderIp, kArpTargetIp}) {
        if (const auto address = address_at(frame, at, Family::V4))
            ask(frame, *address);
    }
    if (const auto address = address_at(frame, kDiscoveryTarget, Family::V6))
        ask(frame, *address);
}
