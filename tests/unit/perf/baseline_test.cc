// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/report/report.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using test::latency_result;
using testing::HasSubstr;
using testing::IsEmpty;

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
    const auto rows = summarize(results);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_DOUBLE_EQ(ratio_to_tcp(rows[0], rows).value(), 0.5);
    EXPECT_FALSE(ratio_to_tcp(rows[2], rows));
    EXPECT_FALSE(ratio_to_tcp(rows[4], rows));
    EXPECT_THAT(tcp_table(rows), HasSubstr("0.50 x tcp\n"));
    PointResult asleep = over_tcp(latency_result(1, 8000));
    asleep.point.poll.mode = PollMode::Event;
    EXPECT_THAT(tcp_table(summarize({latency_result(1, 4000), asleep})),
                HasSubstr("0.50 x tcp  (yield against event)"));
    EXPECT_THAT(tcp_table(summarize({latency_result(1, 4000)})), IsEmpty());
}

}  // namespace
}  // namespace perf
