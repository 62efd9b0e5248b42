// SPDX-License-Identifier: Apache-2.0
#include "perf/command/thesis.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using testing::HasSubstr;

ThesisPlan small_plan() {
    return {.suites = {Suite::Basic},
            .sizes = {2, 64U << 10U, 1U << 20U},
            .qps = {1, 8},
            .time_ms = 100,
            .reps = 3,
            .hosts = 3,
            .seed = 1};
}

TEST(Thesis, BasicHasLatencyUpToSixtyFourKilobytes) {
    const auto trials = trials_of(Suite::Basic, small_plan());
    ASSERT_EQ(trials.size(), 1U);
    EXPECT_EQ(trials.front().clients, 1U);
    const auto& points = trials.front().points;
    EXPECT_EQ(std::ranges::count(points, Mode::Bandwidth, &Point::mode), 9);
    EXPECT_EQ(std::ranges::count(points, Mode::Latency, &Point::mode), 6);
}

TEST(Thesis, MultiDeviceGoesFromOneClientToAll) {
    std::vector<size_t> clients;
    for (const ThesisTrial& trial : trials_of(Suite::MultiDevice, small_plan())) {
        clients.push_back(trial.clients);
        EXPECT_EQ(trial.points.size(), 3U) << "read, write, send";
    }
    EXPECT_EQ(clients, (std::vector<size_t>{1, 2, 3}));
}

TEST(Thesis, MultiQpVariesTheQueuePairsOnly) {
    const auto trials = trials_of(Suite::MultiQp, small_plan());
    ASSERT_EQ(trials.size(), 1U);
    EXPECT_EQ(std::ranges::count(trials.front().points, 8U, &Point::qps), 3);
    for (const Suite suite : {Suite::Basic, Suite::Cpu, Suite::MultiDevice, Suite::MultiQp}) {
        for (const ThesisTrial& trial : trials_of(suite, small_plan())) {
            for (const Point& point : trial.points)
                EXPECT_TRUE(check_limits(point)) << describe(point);
        }
        EXPECT_EQ(*parse_suite(name_of(suite)), suite);
    }
    EXPECT_FALSE(parse_suite("multi"));
}

TEST(Thesis, AllSuitesHaveThePathMtuThatWasAskedFor) {
    ThesisPlan plan = small_plan();
    plan.mtu = 1024;
    EXPECT_EQ(to_json(plan)["mtu_bytes"], 1024);
    for (const Suite suite : {Suite::Basic, Suite::Cpu, Suite::MultiDevice, Suite::MultiQp}) {
        for (const ThesisTrial& trial : trials_of(suite, plan)) {
            for (const Point& point : trial.points)
                EXPECT_EQ(point.mtu, 1024U) << describe(point);
        }
    }
}

// What a polling thread burns is no cost of the payload.
TEST(Thesis, CostIsMeasuredWithThreadsThatSleep) {
    ThesisPlan plan;
    plan.sizes = {4096};
    plan.time_ms = 10;
    for (const ThesisTrial& trial : trials_of(Suite::Cpu, plan)) {
        for (const Point& point : trial.points)
            EXPECT_EQ(point.poll.mode, PollMode::Event);
    }
}

std::vector<PointResult> repetitions() {
    std::vector<PointResult> results;
    for (uint32_t rep = 1; rep <= 3; ++rep) {
        PointResult result = test::bandwidth_result(rep, 100'000 + rep);
        result.usage.client.cpu = CpuUse{.window_s = 2, .machine_busy_s = 3};
        result.usage.server.cpu = CpuUse{.window_s = 2, .machine_busy_s = 1};
        result.usage.payload_bytes = 2'000'000'000;
        results.push_back(result);
    }
    return results;
}

TEST(Thesis, CostIsBothSidesProcessorsForWhatWasTransferred) {
    const auto results = repetitions();
    const auto rows = rows_of(Suite::Cpu, results, 1);
    ASSERT_EQ(rows.size(), 1U);
    ASSERT_EQ(rows.front().cells.size(), 4U);
    const auto value = [&](size_t cell) { return rows.front().cells[cell].estimate; };
    EXPECT_DOUBLE_EQ(value(0).median, 100'002.0 * 4096);
    EXPECT_TRUE(value(0).interval);
    EXPECT_DOUBLE_EQ(value(1).median, 1.5);
    EXPECT_DOUBLE_EQ(value(2).median, 0.5);
    EXPECT_DOUBLE_EQ(value(3).median, 2);
    const base::Json json = json_of(Suite::Cpu, rows);
    EXPECT_EQ(json["rows"][0]["metrics"]["core_s_per_gb"]["n"], 3);
    EXPECT_EQ(json["rows"][0]["point"]["mtu_bytes"], 1024);
}

TEST(Thesis, LinesOfDifferentMtuAreNotLikeForLike) {
    auto results = repetitions();
    EXPECT_THAT(thesis_table(Suite::Cpu, rows_of(Suite::Cpu, results, 1)),
                testing::Not(HasSubstr("note:")));
    results.push_back(test::bandwidth_result(1, 7));
    results.back().clients = 2;
    results.back().mtu = 4096;
    const auto rows = rows_of(Suite::MultiDevice, results, 1);
    EXPECT_EQ(rows.size(), 2U) << "clients tell points apart";
    EXPECT_THAT(thesis_table(Suite::MultiDevice, rows), HasSubstr("path MTU 1024 and 4096"));
}

}  // namespace
}  // namespace perf
