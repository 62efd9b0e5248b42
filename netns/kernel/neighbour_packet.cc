// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/neighbour_packet.h"

#include <algorithm>
#include <array>

#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

namespace netns {

namespace {
constexpr uint16_t kArpRequest = 1;
constexpr size_t kEthernetSize = 14;
constexpr size_t kArpSize = 28;
constexpr size_t kIpv6Size = 40;
constexpr size_t kDiscoverySize = 24;  // a solicitation or an advertisement, without options
constexpr uint8_t kHopLimit = 255;     // no station behind a router can send it (RFC 4861, 7.1)
constexpr Mac kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
constexpr uint8_t kTargetOption = 2;  // the target's link-layer address

using Bytes = std::span<const uint8_t>;

void put(Frame& frame, Bytes bytes) {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
}

void put16(Frame& frame, size_t value) {
    frame.push_back(static_cast<uint8_t>(value >> 8U));
    frame.push_back(static_cast<uint8_t>(value));
}

uint16_t get16(Bytes bytes, size_t at) {
    return static_cast<uint16_t>(bytes[at] << 8U | bytes[at + 1]);
}

Mac mac_at(Bytes bytes, size_t at) {
    Mac mac;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 6, mac.bytes.begin());
    return mac;
}

bool is_at(Bytes frame, size_t at, Bytes wanted) {
    return std::ranges::equal(frame.subspan(at, wanted.size()), wanted);
}

Bytes bytes_of(const Address& address) {
    return Bytes{address.bytes}.first(address_bytes(address.family));
}

Frame ethernet(const Mac& to, const Mac& from, uint16_t type) {
    Frame frame;
    put(frame, to.bytes);
    put(frame, from.bytes);
    put16(frame, type);
    return frame;
}

Frame arp_request(const Mac& own, const Address& sender, const Address& target) {
    static constexpr std::array<uint8_t, 6> kEthernetAndIpv4 = {0, 1, 8, 0, 6, 4};
    Frame frame = ethernet(kBroadcast, own, ETHERTYPE_ARP);
    put(frame, kEthernetAndIpv4);
    put16(frame, kArpRequest);
    put(frame, own.bytes);
    put(frame, bytes_of(sender));
    put(frame, Mac{}.bytes);
    put(frame, bytes_of(target));
    return frame;
}

// Returns the Internet checksum (RFC 1071) of an ICMPv6 message with its pseudo-header (RFC 8200,
// 8.1).
uint16_t checksum(Bytes source, Bytes destination, Bytes message) {
    uint32_t sum = static_cast<uint32_t>(message.size()) + IPPROTO_ICMPV6;
    const auto add = [&sum](Bytes bytes) {
        for (size_t i = 0; i + 1 < bytes.size(); i += 2)
            sum += get16(bytes, i);
    };
    add(source);
    add(destination);
    add(message);
    while (sum > 0xffff)
        sum = (sum & 0xffffU) + (sum >> 16U);
    return static_cast<uint16_t>(~sum);
}

// A solicitation or an advertisement about `target` to a multicast address.
struct Discovery {
    uint8_t type = 0;
    uint8_t flags = 0;
    Address source;
    Address destination;
    std::optional<uint8_t> option;  // carries the sender's MAC
};

Frame discovery(const Mac& own, const Address& target, const Discovery& about) {
    Frame message = {about.type, 0, 0, 0, about.flags, 0, 0, 0};
    put(message, bytes_of(target));
    if (about.option) {
        message.push_back(*about.option);
        message.push_back(1);  // in units of 8 bytes
        put(message, own.bytes);
    }
    const uint16_t sum = checksum(bytes_of(about.source), bytes_of(about.destination), message);
    message[2] = static_cast<uint8_t>(sum >> 8U);
    message[3] = static_cast<uint8_t>(sum);
    // Multicast on Ethernet is 33:33 and the last four bytes (RFC 2464, 7).
    const auto& group = about.destination.bytes;
    Frame frame = ethernet(
        Mac{{0x33, 0x33, group[12], group[13], group[14], group[15]}}, own, ETHERTYPE_IPV6);
    put(frame, std::array<uint8_t, 4>{0x60, 0, 0, 0});
    put16(frame, message.size());
    frame.push_back(IPPROTO_ICMPV6);
    frame.push_back(kHopLimit);
    put(frame, bytes_of(about.source));
    put(frame, bytes_of(about.destination));
    put(frame, message);
    return frame;
}

Address all_nodes() {
    return *parse_ip("ff02::1");
}

Address solicited_node(const Address& address) {
    Address group = *parse_ip("ff02::1:ff00:0");
    std::copy_n(address.bytes.begin() + 13, 3, group.bytes.begin() + 13);
    return group;
}

std::optional<Mac> claimant_of_arp(Bytes frame, const Mac& own, const Address& address) {
    if (frame.size() < kEthernetSize + kArpSize)
        return std::nullopt;
    const Bytes arp = frame.subspan(kEthernetSize);
    const Mac sender = mac_at(arp, 8);
    const bool claims = is_at(arp, 14, bytes_of(address));
    const bool asks = is_at(arp, 14, bytes_of(Address{})) && is_at(arp, 24, bytes_of(address)) &&
                      get16(arp, 6) == kArpRequest;
    if (sender == own || !(claims || asks))
        return std::nullopt;
    return sender;
}

std::optional<Mac> claimant_of_ipv6(Bytes frame, const Mac& own, const Address& address) {
    if (frame.size() < kEthernetSize + kIpv6Size + kDiscoverySize)
        return std::nullopt;
    const Bytes ip = frame.subspan(kEthernetSize);
    const Bytes message = ip.subspan(kIpv6Size);
    const Mac sender = mac_at(frame, 6);
    if (ip[6] != IPPROTO_ICMPV6 || ip[7] != kHopLimit || sender == own ||
        !is_at(message, 8, bytes_of(address)))
        return std::nullopt;
    Address nobody{.family = Family::V6, .bytes = {}, .prefix = 0};
    const bool claims = message[0] == ND_NEIGHBOR_ADVERT;
    const bool asks = message[0] == ND_NEIGHBOR_SOLICIT && is_at(ip, 8, bytes_of(nobody));
    return claims || asks ? std::optional{sender} : std::nullopt;
}
}  // namespace

Frame announcement(const Mac& own, const Address& address) {
    if (address.family == Family::V4)
        return arp_request(own, address, address);
    constexpr uint8_t kOverride = 0x20;
    return discovery(own,
                     address,
                     {.type = ND_NEIGHBOR_ADVERT,
                      .flags = kOverride,
                      .source = address,
                      .destination = all_nodes(),
                      .option = kTargetOption});
}

Frame probe(const Mac& own, const Address& address) {
    if (address.family == Family::V4)
        return arp_request(own, Address{}, address);
    // It has no source option, because the source is unspecified (RFC 4861, 4.3).
    return discovery(own,
                     address,
                     {.type = ND_NEIGHBOR_SOLICIT,
                      .flags = 0,
                      .source = {.family = Family::V6, .bytes = {}, .prefix = 0},
                      .destination = solicited_node(address),
                      .option = std::nullopt});
}

std::optional<Mac> claimant(Bytes frame, const Mac& own, const Address& address) {
    if (frame.size() < kEthernetSize)
        return std::nullopt;
    const uint16_t type = get16(frame, 12);
    if (address.family == Family::V4)
        return type == ETHERTYPE_ARP ? claimant_of_arp(frame, own, address) : std::nullopt;
    return type == ETHERTYPE_IPV6 ? claimant_of_ipv6(frame, own, address) : std::nullopt;
}

}  // namespace netns
