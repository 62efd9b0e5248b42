// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace perf {

Histogram::Histogram() : counts_((size_t{kTopBits} - kStepBits + 1) << kStepBits) {}

size_t Histogram::index_of(uint64_t value) noexcept {
    constexpr uint64_t kLast = (uint64_t{1} << kTopBits) - 1;
    const uint64_t bounded = std::min(value, kLast);
    const auto width = static_cast<unsigned>(std::bit_width(bounded));
    if (width <= kStepBits + 1)
        return bounded;
    const unsigned shift = width - kStepBits - 1;
    return (size_t{shift} << kStepBits) + (bounded >> shift);
}

uint64_t Histogram::highest_of(size_t index) noexcept {
    if (index < (size_t{2} << kStepBits))
        return index;
    const uint64_t shift = (index >> kStepBits) - 1;
    const uint64_t step = index - (shift << kStepBits);
    return ((step + 1) << shift) - 1;
}

void Histogram::merge(const Histogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i)
        counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

Histogram Histogram::since(const Histogram& earlier) const {
    Histogram later;
    for (size_t i = 0; i < counts_.size(); ++i) {
        // Nothing is written: std::atomic_ref takes no const before C++26.
        auto& step = const_cast<uint64_t&>(counts_[i]);
        const uint64_t count = std::atomic_ref(step).load(std::memory_order_relaxed);
        if (count != earlier.counts_[i])
            later.record(highest_of(i), count - earlier.counts_[i]);
    }
    return later;
}

uint64_t Histogram::quantile(double fraction) const {
    if (count_ == 0)
        return 0;
    const double rank = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
    const auto wanted = std::clamp<uint64_t>(static_cast<uint64_t>(rank), 1, count_);
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
        seen += counts_[i];
        if (seen >= wanted)
            return std::clamp(highest_of(i), min_, max_);
    }
    return max_;
}

LatencySummary summarize(const Histogram& h) {
    return {.samples = h.count(),
            .min_ns = h.min(),
            .mean_ns = h.mean(),
            .p50_ns = h.quantile(0.5),
            .p90_ns = h.quantile(0.9),
            .p99_ns = h.quantile(0.99),
            .p999_ns = h.quantile(0.999),
            .p9999_ns = h.quantile(0.9999),
            .max_ns = h.max()};
}

}  // namespace perf
