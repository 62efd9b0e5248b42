// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/measure/client.h"
#include "perf/report/report.h"
#include "tests/unit/perf/report_samples.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kSliceNs = kSliceMs * 1'000'000;

std::vector<Reading> readings_of(const std::vector<uint64_t>& counts) {
    std::vector<Reading> all;
    for (size_t i = 0; i < counts.size(); ++i)
        all.push_back({.count = counts[i], .at_ns = 7 + i * kSliceNs});
    return all;
}

TEST(Slices, ShowWhatAMeanHides) {
    const auto slices = slices_of(readings_of({500, 1500, 2500, 2510, 3510, 4510, 5510}), 16);
    ASSERT_TRUE(slices);
    EXPECT_EQ(slices->count, 6U);
    EXPECT_DOUBLE_EQ(slices->least, 500);
    EXPECT_DOUBLE_EQ(slices->p1, 500);
    EXPECT_DOUBLE_EQ(slices->most, 50'000);
    EXPECT_DOUBLE_EQ(slices->mean, 5010 / 0.12);
}

// The slowest one of two hundred is not their first percentile.
TEST(Slices, HaveAPercentileOfTheirOwn) {
    std::vector<uint64_t> counts = {0};
    for (uint64_t i = 0; i < 200; ++i)
        counts.push_back(counts.back() + 1000 + i);
    const auto slices = slices_of(readings_of(counts), 1);
    ASSERT_TRUE(slices);
    EXPECT_DOUBLE_EQ(slices->least, 50'000);
    EXPECT_DOUBLE_EQ(slices->p1, 50'100);
}

TEST(Slices, SayNothingOfFew) {
    EXPECT_FALSE(slices_of({}, 1));
    EXPECT_FALSE(slices_of(readings_of({0, 1000, 2000, 3000, 4000}), 1)) << "slices";
    EXPECT_FALSE(slices_of(readings_of({0, 1000, 2000, 3000, 4000, 5000}), 128)) << "completions";
    EXPECT_TRUE(slices_of(readings_of({0, 1000, 2000, 3000, 4000, 5000}), 100));
}

base::Result<PointResult> conduct_for(uint32_t time_ms) {
    test::FakeVerbs verbs;
    Pair pair(verbs);
    auto result = [&]() -> base::Result<PointResult> {
        std::vector<Client> clients;
        clients.push_back(TRY(pair.client(verbs)));
        Point wanted = point(Verb::Write, Mode::Bandwidth, 64);
        wanted.batch = 1;
        wanted.iterations = 0;
        wanted.time_ms = time_ms;
        return conduct(clients, wanted);
    }();
    (void)pair.outcome();
    return result;
}

TEST(Slices, AreTakenWithinAWindow) {
    // On a busy machine a window may have too few messages: a longer one follows.
    for (uint32_t time_ms = 200;; time_ms *= 4) {
        const auto result = conduct_for(time_ms);
        ASSERT_TRUE(result) << result.error().message();
        const std::optional<Slices>& slices = result->bandwidth->slices;
        if (!slices && time_ms < 10'000)
            continue;
        ASSERT_TRUE(slices);
        EXPECT_LE(slices->count, time_ms / kSliceMs);
        EXPECT_LE(slices->least, slices->mean);
        EXPECT_GE(slices->most, slices->mean);
        return;
    }
}

TEST(Slices, AreInTheReportAndAStallInTheTable) {
    Report report = test::sample_report();
    Bandwidth& bandwidth = *report.results.front().bandwidth;
    EXPECT_TRUE(test::document_of(report)["results"][0]["bandwidth"]["slices"].is_null());
    bandwidth.slices = Slices{.count = 50, .least = 900, .p1 = 900, .mean = 1000, .most = 1100};
    EXPECT_EQ(test::document_of(report)["results"][0]["bandwidth"]["slices"]["min_bytes_per_s"],
              900 * 4096);
    EXPECT_THAT(table_row(report.results.front()), Not(HasSubstr("slowest")));
    bandwidth.slices->least = 120;
    EXPECT_THAT(table_row(report.results.front()), HasSubstr("slowest 20 ms 12 %"));
}

}  // namespace
}  // namespace perf
