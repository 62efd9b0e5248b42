// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/report/report.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Code;
using test::bandwidth_result;
using test::latency_result;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines(std::string_view text, const std::vector<PointResult>& results) {
    const auto expectations = parse_expectations(text);
    EXPECT_TRUE(expectations) << text;
    return unmet(*expectations, results);
}

TEST(Expect, HoldsAtItsLimit) {
    // 1000 messages of 4096 bytes in a second; p50 4 us, p99 12 us.
    const std::vector<PointResult> results = {bandwidth_result(1, 1000), latency_result(1, 4000)};
    for (const char* text : {"bw>=4096000B/s",
                             "bw<=4000KiB/s",
                             "bw>=3.90625MiB/s",
                             "bw>=32.768Mbit/s",
                             "bw<=0.032768Gbit/s",
                             "bw>=0.032768Gb/s",
                             "rate>=1kmsg/s,rate<=1000msg/s",
                             "rate>=0.001Mpps,rate<=0.001Mmsg/s",
                             "min>=2us,min<=2us,avg>=4us,avg<=4us",
                             "p50<=4us",
                             "p50>=4000ns,p99<=0.012ms",
                             "max<=1s,p90<=8us,p99.9<=16us"})
        EXPECT_THAT(lines(text, results), IsEmpty()) << text;
    for (const char* text : {"bw>=4096001B/s",
                             "bw<=3.9MiB/s",
                             "rate>=1.001kmsg/s",
                             "rate>=0.0011Mpps",
                             "min<=1.9us",
                             "avg>=4.1us",
                             "p50<=3.9us",
                             "p99>=13us"})
        EXPECT_EQ(lines(text, results).size(), 1U) << text;
}

TEST(Expect, SaysWhichPointHasWhat) {
    EXPECT_THAT(lines("p50<=1us", {latency_result(1, 4000)}),
                ElementsAre("expected p50<=1us, but send lat 64 B has 4.00 us"));
    EXPECT_THAT(lines("bw>=1Gb/s,rate>=1Mpps", {bandwidth_result(1, 1024)}),
                ElementsAre("expected bw>=1Gb/s, but write bw 4096 B has 0.0336 Gb/s",
                            "expected rate>=1Mpps, but write bw 4096 B has 0.00102 Mpps"));
}

TEST(Expect, GoesByTheMedianOfRepetitions) {
    const std::vector<PointResult> results = {
        bandwidth_result(1, 1), bandwidth_result(2, 1000), bandwidth_result(3, 1001)};
    EXPECT_THAT(lines("rate>=1kmsg/s", results), IsEmpty());
}

TEST(Expect, IsNotMetByWhatWasNotMeasured) {
    EXPECT_THAT(lines("p99<=1s", {bandwidth_result(1, 1)}), ElementsAre(HasSubstr("no point")));
    EXPECT_THAT(lines("p99.9<=1s", {latency_result(1, 4000, 999)}),
                ElementsAre(HasSubstr("no point")));
    EXPECT_THAT(lines("", {}), IsEmpty());
}

TEST(Expect, RefusesWhatItCannotRead) {
    for (const char* text : {"bw",
                             "bw>1MiB/s",
                             "bw==1MiB/s",
                             "bw>=",
                             "bw>=MiB/s",
                             "bw>=1",
                             "bw>=1us",
                             "p50<=1MiB/s",
                             "bw>=nanMiB/s",
                             "bw>=infMiB/s",
                             "bw>=-1MiB/s",
                             "bw>=1e999B/s",
                             "p75<=1us",
                             ",",
                             "bw>=1B/s,"}) {
        const auto parsed = parse_expectations(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().code, Code::Usage) << text;
    }
}

}  // namespace
}  // namespace perf
