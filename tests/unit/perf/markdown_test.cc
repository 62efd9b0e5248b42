// SPDX-License-Identifier: Apache-2.0
// The page of Markdown, and what RDMA gains over TCP.
#include "perf/report/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/report/baseline.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using test::latency_result;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PointResult over_tcp(PointResult result) {
    result.point.transport = Transport::Tcp;
    result.mtu = 0;
    return result;
}

TEST(TcpRatio, IsThatOfTheSamePointOnly) {
    auto larger = over_tcp(latency_result(1, 9000));
    larger.point.size = 4096;
    const std::vector<PointResult> results = {
        latency_result(1, 4000), over_tcp(latency_result(1, 8000)), larger};
    const auto rows = summarize(results, 1);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_DOUBLE_EQ(ratio_to_tcp(rows[0], rows).value(), 0.5);
    EXPECT_FALSE(ratio_to_tcp(rows[2], rows));
    EXPECT_FALSE(ratio_to_tcp(rows[4], rows));
    EXPECT_THAT(tcp_table(rows), HasSubstr("0.50 x tcp\n"));
    PointResult asleep = over_tcp(latency_result(1, 8000));
    asleep.point.poll.mode = PollMode::Event;
    EXPECT_THAT(tcp_table(summarize({latency_result(1, 4000), asleep}, 1)),
                HasSubstr("0.50 x tcp  (yield against event)"));
    EXPECT_THAT(tcp_table(summarize({latency_result(1, 4000)}, 1)), IsEmpty());
}

TEST(Markdown, HasARowForEachResultAndTheMedians) {
    Report report;
    report.started = "2026-01-01T00:00:00Z";
    report.client.host = "a|b";
    report.results = {
        test::bandwidth_result(1, 1000), test::bandwidth_result(2, 2000), test::wrong_result(3)};
    const std::string text = to_markdown(report);
    EXPECT_THAT(text, HasSubstr("## rdma-perf"));
    EXPECT_THAT(text, HasSubstr("on a\\|b"));
    EXPECT_THAT(text,
                HasSubstr("| write | rc | bw | 4 KiB | 1 | 128 | 1024 | ok 1 MiB | 3.9 MiB/s"));
    EXPECT_THAT(text, HasSubstr("| WRONG | not measured |"));
    EXPECT_THAT(
        text,
        HasSubstr("| write bw 4096 B | rc | bandwidth_bytes_per_s | 5.9 MiB/s | - | 2 | - |"));
    EXPECT_THAT(text, Not(HasSubstr("ended early")));
}

}  // namespace
}  // namespace perf
