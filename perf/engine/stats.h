// SPDX-License-Identifier: Apache-2.0
// Histogram: latencies in nanoseconds with three significant digits in fixed memory. Log-linear:
// each power of two is cut into 1024 equal steps, values below 2048 are exact, the relative error
// is below 0.1 %. record() is a few instructions and never allocates. Values above 2^36 ns (68 s)
// are counted in the last step; max() and min() stay exact.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perf {

class Histogram {
  public:
    Histogram();

    void record(uint64_t value_ns, uint64_t times = 1) noexcept {
        uint64_t& step = counts_[index_of(value_ns)];
        std::atomic_ref(step).store(step + times, std::memory_order_relaxed);
        count_ += times;
        sum_ += static_cast<double>(value_ns) * static_cast<double>(times);
        min_ = value_ns < min_ ? value_ns : min_;
        max_ = value_ns > max_ ? value_ns : max_;
    }

    void merge(const Histogram& other);

    // The samples that are not in `earlier`; their minimum, mean and maximum to 0.1 %. The only call
    // for another thread than the one that records, while it does.
    [[nodiscard]] Histogram since(const Histogram& earlier) const;

    [[nodiscard]] uint64_t count() const { return count_; }

    [[nodiscard]] uint64_t min() const { return count_ == 0 ? 0 : min_; }

    [[nodiscard]] uint64_t max() const { return max_; }

    [[nodiscard]] double mean() const {
        return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
    }

    // The smallest recorded value (to 0.1 %) that at least `fraction` of all samples do not exceed:
    // quantile(0.5) is the median, quantile(1) is max(). 0 without samples.
    [[nodiscard]] uint64_t quantile(double fraction) const;

  private:
    static constexpr unsigned kStepBits = 10;
    static constexpr unsigned kTopBits = 36;

    static size_t index_of(uint64_t value) noexcept;
    static uint64_t highest_of(size_t index) noexcept;

    std::vector<uint64_t> counts_;
    uint64_t count_ = 0;
    uint64_t min_ = UINT64_MAX;
    uint64_t max_ = 0;
    double sum_ = 0;
};

struct LatencySummary {
    uint64_t samples = 0;
    uint64_t min_ns = 0;
    double mean_ns = 0;
    uint64_t p50_ns = 0;
    uint64_t p90_ns = 0;
    uint64_t p99_ns = 0;
    uint64_t p999_ns = 0;
    uint64_t p9999_ns = 0;
    uint64_t max_ns = 0;

    // Below that a quantile would be the maximum under another name.
    [[nodiscard]] bool carries_p999() const { return samples >= 1000; }

    [[nodiscard]] bool carries_p9999() const { return samples >= 10'000; }
};

LatencySummary summarize(const Histogram& histogram);

}  // namespace perf
