// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/limit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "perf/verbs/memory.h"
#include "perf/verbs/queue_pair.h"

namespace perf {

namespace {
// Bytes on the wire. Each packet has a path MTU of payload at most.
constexpr uint64_t kEthernet = 8 + 12 + 14 + 4;  // IEEE 802.3: preamble, gap, header and FCS
constexpr uint64_t kIpv4 = 20;
constexpr uint64_t kIpv6 = 40;
constexpr uint64_t kUdp = 8;
constexpr uint64_t kGrh = 40;
constexpr uint64_t kLrh = 8;
constexpr uint64_t kVcrc = 2;
constexpr uint64_t kBthIcrc = 12 + 4;
constexpr uint64_t kReth = 16;  // in the first packet of a WRITE, and in the request of a READ
constexpr uint64_t kAeth = 4;   // in the first and the last response of a READ
constexpr uint64_t kImmDt = 4;  // in the last packet
constexpr uint64_t kDeth = 8;   // in each datagram

// What every packet has besides payload and extended headers, by HeaderStack but iWARP's. IBTA
// annexes A17 and A16 have RoCE's.
constexpr uint64_t kPacketBytes[] = {kEthernet + kIpv4 + kUdp + kBthIcrc,
                                     kEthernet + kIpv6 + kUdp + kBthIcrc,
                                     kEthernet + kGrh + kBthIcrc,
                                     kLrh + kBthIcrc + kVcrc,
                                     kLrh + kGrh + kBthIcrc + kVcrc};
static_assert(std::size(kPacketBytes) == static_cast<size_t>(HeaderStack::Iwarp));

// Bytes on the wire of one message, in the direction that is busier with it: of a READ the responses
// have the data.
uint64_t message_bytes(const Wire& wire, const Point& point) {
    const uint64_t packet = kPacketBytes[static_cast<size_t>(wire.stack)];
    const uint64_t packets = (uint64_t{point.size} + wire.mtu - 1) / wire.mtu;
    uint64_t bytes = packets * packet + (uint64_t{point.size} + 3) / 4 * 4;  // padded
    if (point.verb == Verb::Read) {
        bytes += packets > 1 ? 2 * kAeth : kAeth;
        return std::max(bytes, packet + kReth);
    }
    bytes += is_send(point.verb) ? 0 : kReth;
    bytes += point.verb == Verb::SendImm || writes_with_immediate(point) ? kImmDt : 0;
    return bytes + (point.transport == Transport::Ud ? packets * kDeth : 0);
}

// Bit/s of one lane; InfiniBand's behind the line coding.
struct LaneSpeed {
    uint32_t code;
    double ethernet;
    double infiniband;
};

constexpr LaneSpeed kLaneSpeeds[] = {{1, 2.5e9, 2e9},                        // SDR
                                     {2, 5e9, 4e9},                          // DDR
                                     {4, 10e9, 8e9},                         // QDR
                                     {8, 10e9, 10e9},                        // FDR-10
                                     {16, 14e9, 14.0625e9 * (64.0 / 66.0)},  // FDR
                                     {32, 25e9, 25e9},                       // EDR
                                     {64, 50e9, 50e9},                       // HDR
                                     {128, 100e9, 100e9},                    // NDR
                                     {256, 200e9, 200e9}};                   // XDR
// Code of a width, and how many lanes it has.
constexpr std::pair<uint32_t, uint32_t> kWidths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};

HeaderStack stack_between(const DeviceInfo& own, const DeviceInfo& peer, const Marks& marks) {
    if (own.gid_type == GidType::RoceV2)
        return own.gid.is_v4() ? HeaderStack::RoceV2Ipv4 : HeaderStack::RoceV2Ipv6;
    if (own.gid_type == GidType::RoceV1)
        return HeaderStack::RoceV1;
    // An active InfiniBand port has a LID; an iWARP port has none, and its GIDs no type of theirs.
    if (own.lid == 0)
        return HeaderStack::Iwarp;
    return needs_grh(own, peer, marks) ? HeaderStack::InfiniBandGrh : HeaderStack::InfiniBand;
}
}  // namespace

std::optional<double> payload_limit(const Wire& wire, const Point& point) {
    if (wire.link_bps == 0 || wire.mtu == 0 || wire.stack == HeaderStack::Iwarp ||
        point.size == 0 || is_atomic(point.verb) || point.transport == Transport::Tcp ||
        point.transport == Transport::Srd)
        return std::nullopt;
    return static_cast<double>(wire.link_bps) / 8 * point.size /
           static_cast<double>(message_bytes(wire, point));
}

uint64_t port_bps(uint32_t width, uint32_t speed, bool ethernet) {
    const auto* lane = std::ranges::find(kLaneSpeeds, speed, &LaneSpeed::code);
    const auto* lanes = std::ranges::find(kWidths, width, &std::pair<uint32_t, uint32_t>::first);
    if (lane == std::end(kLaneSpeeds) || lanes == std::end(kWidths))
        return 0;
    const double bps = ethernet ? lane->ethernet : lane->infiniband;
    return static_cast<uint64_t>(std::llround(bps * lanes->second));
}

Wire wire_between(const DeviceInfo& own, const DeviceInfo& peer, uint32_t mtu, const Marks& marks) {
    uint64_t speed = std::min(own.link_bps, peer.link_bps);
    if (speed == 0)
        speed = std::max(own.link_bps, peer.link_bps);
    return {.link_bps = speed, .mtu = mtu, .stack = stack_between(own, peer, marks)};
}

double limit_margin(const Point& point, uint64_t messages) {
    constexpr double kClocks = 1;
    // By iterations the time lasts to the last completion: none of it is outside.
    if (point.iterations != 0 || messages == 0)
        return kClocks;
    const uint64_t at_once = uint64_t{point.qps} * std::max(point.batch, signal_of(point));
    return kClocks + 100 * static_cast<double>(at_once) / static_cast<double>(messages);
}

// ---- inline data --------------------------------------------------------------------------------
namespace {
struct InlineLimits {
    uint32_t vendor = 0;  // ibv_device_attr.vendor_id
    uint32_t write = 220;
    uint32_t send = 220;
    uint32_t datagram = 220;
    uint32_t latency = 220;
};

constexpr InlineLimits kInlineLimits[] = {
    // mlx5. Of bandwidth, what takes no more blocks of the send queue than a pointer does. A block
    // has 64 bytes: 16 are control, 4 the length, 16 the address to write to; a datagram's has 48,
    // and so takes two blocks.
    {.vendor = 0x02c9, .write = 28, .send = 44, .datagram = 60},
    {.vendor = 0x15b3, .write = 28, .send = 44, .datagram = 60},
    // EFA: a descriptor has room for so much.
    {.vendor = 0x1d0f, .write = 32, .send = 32, .datagram = 32, .latency = 32},
};
}  // namespace

uint32_t inline_limit(uint32_t vendor_id, const Point& point) {
    const auto* row = std::ranges::find(kInlineLimits, vendor_id, &InlineLimits::vendor);
    const InlineLimits limits = row != std::end(kInlineLimits) ? *row : InlineLimits{};
    return point.mode == Mode::Latency        ? limits.latency
           : point.transport == Transport::Ud ? limits.datagram
           : is_send(point.verb)              ? limits.send
                                              : limits.write;
}

}  // namespace perf
