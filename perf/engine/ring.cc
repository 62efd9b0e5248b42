// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/ring.h"

namespace perf {

namespace {
constexpr uint32_t kPingPongReceives = 64;
constexpr uint32_t kCredits = 4;
}  // namespace

uint32_t window_of(const Point& point) {
    return point.mode == Mode::Latency ? point.slots : point.depth;
}

uint32_t receives_of(const Point& point, Side side) {
    if (fetches(point.verb) || !has_in(point, side))
        return 0;
    if (arrives_by_credit(point))
        return kCredits;
    // Twice the depth: the sender may run ahead of the receiver's reposting without hitting RNR.
    return in_whole_rings(point, is_ping_pong(point) ? kPingPongReceives : 2 * point.depth);
}

uint32_t in_whole_rings(const Point& point, uint32_t receives) {
    return (receives + point.slots - 1) / point.slots * point.slots;
}

base::Result<Ring> Ring::make(const Point& point, Side side, LaneId id) {
    const Layout layout = layout_of(point, side);
    return Ring(point, side, id, layout, TRY(Memory::map(layout)));
}

}  // namespace perf
