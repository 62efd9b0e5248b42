// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/ring.h"

#include <algorithm>

namespace perf {

namespace {
constexpr uint32_t kPingPongReceives = 64;
constexpr uint32_t kCredits = 4;
// perftest's, too: at 10 to 20 million messages a second they last for as long as a tick of the
// timer or a yield keeps the receiver from its queue. A sender that finds none waits for 0.64 ms.
constexpr uint32_t kStreamReceives = 512;
constexpr uint32_t kRepostsAtOnce = 16;
}  // namespace

uint32_t window_of(const Point& point) {
    return point.mode == Mode::Latency ? point.slots : point.depth;
}

uint32_t receives_of(const Point& point, Side side) {
    if (fetches(point.verb) || !has_in(point, side))
        return 0;
    if (arrives_by_credit(point))
        return kCredits;
    // Twice the depth at least: the sender may run ahead of the receiver's reposting. Several queue
    // pairs share the rate, and so what it takes to outlast a pause of the receiver.
    const uint32_t of_stream = std::max(2 * point.depth, kStreamReceives / point.qps);
    return in_whole_rings(point, is_ping_pong(point) ? kPingPongReceives : of_stream);
}

uint32_t reposts_of(const Point& point, Side side) {
    return std::clamp(receives_of(point, side) / 4, 1U, kRepostsAtOnce);
}

uint32_t in_whole_rings(const Point& point, uint32_t receives) {
    return (receives + point.slots - 1) / point.slots * point.slots;
}

Result<Ring> Ring::make(const Point& point, Side side, LaneId id, BufferSource& source) {
    const Layout layout = layout_of(point, side);
    return Ring(point, side, id, layout, TRY(Memory::map(layout, source)));
}

}  // namespace perf
