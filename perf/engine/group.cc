// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/group.h"

#include <algorithm>

#include <fmt/format.h>

namespace perf {

namespace {
uint64_t limit(int value) {
    return static_cast<uint64_t>(std::max(value, 0));
}

Error too_deep(const Device& device, const Point& point) {
    return make_error(Code::Unsupported,
                      fmt::format("depth {} with {} queue pairs in a thread is more than {} can "
                                  "queue",
                                  point.depth,
                                  (point.qps + point.threads - 1) / point.threads,
                                  device.info.device))
        .advise(point.qps > point.threads ? "use a smaller --depth, fewer --qps or more --threads"
                                          : "use a smaller --depth");
}
}  // namespace

Result<Group> Group::create(const Device& device,
                            const Point& point,
                            Side side,
                            uint32_t first,
                            uint32_t count,
                            CmLinks* cm) {
    const bool by_credits = needs_credits(device, point);
    const QueueDepths depths = queue_depths(point, side, by_credits);
    const uint64_t entries = uint64_t{count} * (depths.sends + std::max(depths.receives, 1U));
    if (std::max(depths.sends, depths.receives) > limit(device.attr.max_qp_wr) ||
        entries > limit(device.attr.max_cqe))
        return too_deep(device, point);
    Group group;
    group.domain = alloc_thread_domain(*device.verbs, device.context.get(), device.pd.get());
    ibv_pd* pd = group.domain.pd ? group.domain.pd.get() : device.pd.get();
    // A credit is known by its length, which is not read lazily. Nor is librxe polled so: before
    // rdma-core 59 it skips completions and gives its lock back twice.
    const bool lazily = !by_credits && !device.software;
    group.queue = std::make_unique<CompletionQueue>(
        TRY(create_cq(*device.verbs, device.context.get(), static_cast<int>(entries), lazily)));
    group.lanes.reserve(count);
    for (uint32_t place = 0; place < count; ++place)
        group.lanes.push_back(TRY(Lane::create(
            device, pd, *group.queue, point, side, {.number = first + place, .place = place}, cm)));
    return group;
}

}  // namespace perf
