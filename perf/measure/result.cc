// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/result.h"

#include <algorithm>

namespace perf {

namespace {
double per_second(uint64_t messages, uint64_t elapsed_ns) {
    return elapsed_ns == 0
               ? 0
               : static_cast<double>(messages) / (static_cast<double>(elapsed_ns) / 1e9);
}
}  // namespace

Bandwidth sum_of(std::vector<Part> parts, bool one_window) {
    Bandwidth all;
    all.one_window = one_window;
    for (const Part& part : parts) {
        all.messages += part.messages;
        all.elapsed_ns = std::max(all.elapsed_ns, part.elapsed_ns);
        all.warmup_messages += part.warmup_messages;
        all.lost += part.lost;
    }
    if (parts.size() > 1)
        all.parts = std::move(parts);
    return all;
}

double messages_per_second(const Bandwidth& bandwidth) {
    if (bandwidth.parts.empty() || !bandwidth.one_window)
        return per_second(bandwidth.messages, bandwidth.elapsed_ns);
    double sum = 0;
    for (const Part& part : bandwidth.parts)
        sum += per_second(part.messages, part.elapsed_ns);
    return sum;
}

}  // namespace perf
