// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/team.h"

#include <algorithm>
#include <numeric>

namespace perf {

uint64_t warmup_ns(const Point& point) {
    return std::min<uint64_t>(point.time_ms / 10 + 1, 300) * 1'000'000;
}

// The side that answers a latency point learns at the end how often; the other one counts itself.
bool Team::expects() const {
    return receives_data(point_, side_) &&
           (point_.mode == Mode::Bandwidth || side_ == Side::Server);
}

Result<> Team::wipe() {
    for (uint32_t lane = 0; lane < point_.qps; ++lane)
        TRY(wipe_ring(ring(lane)));
    return {};
}

Result<> Team::start() {
    crew_ = TRY(Crew::create());
    shifts_.assign(point_.threads, {});
    expected_.clear();
    prepare();
    const bool receives = expects();
    for (size_t i = 0; i < shifts_.size(); ++i) {
        shifts_[i].flows.resize(first_lane(i + 1) - first_lane(i));
        // One-sided: the passive side's processor has nothing to do.
        if (!receives && !posts_data(point_, side_))
            continue;
        TRY(crew_->hire(receives, body(i, shifts_[i])));
    }
    return crew_->start();
}

Posted Team::posted() const {
    Posted posted;
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (const Shift& shift : shifts_) {
        for (const Flow& flow : shift.flows)
            posted.by_lane.push_back(flow.completed);
        posted.warmup_messages += shift.warmup;
        begin = std::min(begin, shift.begin_ns);
        end = std::max(end, shift.end_ns);
    }
    posted.elapsed_ns = end > begin ? end - begin : 0;
    return posted;
}

void Team::expect(std::span<const uint64_t> messages) {
    // One-sided: what the other side sent never shows here.
    if (!expects())
        return;
    expected_.assign(messages.begin(), messages.end());
    for (size_t i = 0; i < crew_->size(); ++i) {
        const auto own = messages.subspan(first_lane(i), first_lane(i + 1) - first_lane(i));
        crew_->expect(i, std::accumulate(own.begin(), own.end(), uint64_t{0}));
    }
}

void Team::finish() {
    dismiss();
    // In a ping-pong nothing can be missing: it would not have come to its end.
    if (expected_.empty() || point_.mode != Mode::Bandwidth)
        return;
    uint32_t number = 0;
    for (const Shift& shift : shifts_) {
        for (const Flow& flow : shift.flows) {
            ring(number).miss(static_cast<int64_t>(expected_[number] - flow.taken));
            ++number;
        }
    }
    expected_.clear();
}

}  // namespace perf
