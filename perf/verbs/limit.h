// SPDX-License-Identifier: Apache-2.0
// The payload limit: how many bytes of messages a link can carry each second, when nothing but its
// speed and the headers hold them back. An upper bound on purpose: acknowledgements (they go the
// other way), flow control, PCIe and the far memory are not in it. So a result close to 100 % means
// that the wire is the bottleneck, and one above 100 % that the data did not go over it (a loopback
// inside of the adapter), that the speed is not the port's, or that the clock is wrong.
// What packets and messages have beside the payload: limit.cc. A VLAN tag, 4 bytes, does not show in
// a GID and is left out. iWARP has no limit here: verbs do not tell the MTU of its packets.
#pragma once

#include <cstdint>
#include <optional>

#include "perf/protocol/message.h"

namespace perf {

enum class HeaderStack { RoceV2Ipv4, RoceV2Ipv6, RoceV1, InfiniBand, InfiniBandGrh, Iwarp };

struct Wire {
    uint64_t link_bps = 0;  // bits per second behind the line coding; 0: unknown
    uint32_t mtu = 0;       // bytes
    HeaderStack stack = HeaderStack::RoceV2Ipv4;
};

// The largest payload rate of a point in bytes per second, one direction. Nothing if it has no
// meaning: for atomics, whose limit is no matter of payload; TCP, whose packets the kernel makes;
// SRD, whose headers are Amazon's own; iWARP; or with unknown speed or MTU.
std::optional<double> payload_limit(const Wire& wire, const Point& point);

// The speed of a port in bit/s from the codes of ibv_port_attr (bits of enum ib_port_width and
// ib_port_speed, include/rdma/ib_verbs.h); 0 for codes that are not known. InfiniBand counts data
// behind its line coding (8b/10b up to QDR, then 64b/66b); an Ethernet port borrows the codes for
// its nominal rate (ib_get_eth_speed, drivers/infiniband/core/verbs.c).
uint64_t port_bps(uint32_t width, uint32_t speed, bool ethernet);

// The same of a queried port. libibverbs before active_speed_ex tells XDR as NDR.
template <class PortAttr>
uint64_t port_bps(const PortAttr& port, bool ethernet) {
    if constexpr (requires { port.active_speed_ex; }) {
        if (port.active_speed_ex != 0)
            return port_bps(port.active_width, port.active_speed_ex, ethernet);
    }
    return port_bps(port.active_width, port.active_speed, ethernet);
}

// What both sides of a point say about the wire between them: the slower known speed, the headers
// of their GIDs.
Wire wire_between(const DeviceInfo& own,
                  const DeviceInfo& peer,
                  uint32_t mtu,
                  const Marks& marks = {});

// A measured rate beside the limit.
struct LimitShare {
    double percent = 0;
    double margin = 0;  // so much above 100 % a rate within the limit may come out

    [[nodiscard]] bool exceeds() const { return percent > 100 + margin; }
};

// The margin for a stream of so many messages in its window: one percent for clocks that differ and
// a count that is read late, and, by time, what completes at once at either end of the window.
double limit_margin(const Point& point, uint64_t messages);

// Bytes of the largest message that rides in its work request: a larger one costs more there than a
// pointer to it.
uint32_t inline_limit(uint32_t vendor_id, const Point& point);

}  // namespace perf
