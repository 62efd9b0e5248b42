// SPDX-License-Identifier: Apache-2.0
// Plans read back from JSON: of reports, of people, and of nobody's good will.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/commands.h"
#include "perf/measure/schedule.h"
#include "perf/report/report.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Code;
using base::Json;
using base::Result;
using testing::HasSubstr;

Plan every_member() {
    Plan plan{
        .verbs = {Verb::Send, Verb::FetchAdd},
        .modes = {Mode::Latency, Mode::Bandwidth},
        .sizes = {1, 4096},
        .time_ms = 70,
        .depths = {0, 8},
        .batches = {2},
        .qps = {1, 3},
        .polls = {Poll{.mode = PollMode::Hybrid, .spin_us = 7}, Poll{.mode = PollMode::Event}},
        .threads = 2,
        .direction = Direction::Both};
    plan.interval_ms = 250;
    plan.rate = 1000;
    plan.load = Load{.verb = Verb::Send, .size = 4096};
    plan.mtu = 1024;
    plan.verify = Verify::Full;
    plan.transports = {Transport::Rc, Transport::Tcp};
    plan.connect = Connect::Cm;
    plan.hosts = Hosts::Ramp;
    plan.orderings = {Ordering::Strict, Ordering::Relaxed};
    plan.marks = {.traffic_class = 4, .service_level = 3, .flow_label = 2, .pkey_index = 1};
    plan.reads = 5;
    plan.inline_bytes = 0;
    plan.signal = 8;
    plan.ring_bytes = 1U << 20U;
    plan.seed = 0xfedcba9876543210;
    plan.reps = 3;
    return plan;
}

class PlanFile : public testing::Test {
  protected:
    ~PlanFile() override { (void)::unlink(path_.c_str()); }

    Result<Plan> read(const std::string& text) {
        std::ofstream(path_) << text;
        return read_plan(path_);
    }

    base::Error refusal(const std::string& text) {
        auto plan = read(text);
        EXPECT_FALSE(plan) << text;
        return plan ? base::Error{} : std::move(plan).error();
    }

    std::string path_ = testing::TempDir() + "rdma-perf-plan-" + std::to_string(::getpid());
};

TEST_F(PlanFile, ComesBackAsItWasWritten) {
    const Json json = to_json(every_member());
    const auto plan = read(base::dump_json(json));
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(to_json(*plan), json);
}

TEST_F(PlanFile, MayHaveNoEnd) {
    Plan plan = every_member();
    plan.time_ms = kForever;
    const Json json = to_json(plan);
    EXPECT_EQ(json["time_ms"], "forever");
    EXPECT_EQ(read(base::dump_json(json))->time_ms, kForever);
    EXPECT_THAT(refusal(R"({"time_ms": "long"})").message(), HasSubstr("time_ms"));
}

TEST_F(PlanFile, IsFoundInAReport) {
    Report report;
    report.plan = every_member();
    const auto plan = read(base::dump_json(test::document_of(report)));
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(to_json(*plan), to_json(report.plan));
}

TEST_F(PlanFile, HasTheCommandLinesDefaults) {
    const auto plan = read("{}");
    ASSERT_TRUE(plan) << plan.error().message();
    const char* words[] = {"rdma-perf", "loop", "--seed", "1"};
    const auto command = parse_command_line(4, words);
    ASSERT_TRUE(command);
    Json expected = to_json(std::get<LoopOptions>(*command).measure.plan);
    expected["seed"] = plan->seed;
    EXPECT_EQ(to_json(*plan), expected);
    EXPECT_EQ(read(R"({"iterations": 10})")->time_ms, 0U);
}

TEST_F(PlanFile, RefusesWhatIsNone) {
    for (const char* text : {"",
                             "[]",
                             "{",
                             "7",
                             R"({"schema": "other/1", "plan": {}})",
                             R"({"schema": "rdma-perf/1"})",
                             R"({"schema": 1})",
                             R"({"verb": ["write"]})",
                             R"({"verbs": "write"})",
                             R"({"verbs": []})",
                             R"({"verbs": ["wryte"]})",
                             R"({"sizes_bytes": [-1]})",
                             R"({"sizes_bytes": [1.5]})",
                             R"({"sizes_bytes": [4294967296]})",
                             R"({"polls": [{}]})",
                             R"({"threads": null})",
                             R"({"direction": 1})",
                             R"({"with": "write"})",
                             R"({"time_ms": 10, "iterations": 10})"}) {
        const auto error = refusal(text);
        EXPECT_EQ(error.code, Code::Usage) << text;
        EXPECT_THAT(error.message(), HasSubstr("rdma-perf-plan-"));
    }
    EXPECT_THAT(refusal(R"({"sizes_bytes": [1, "x"]})").message(), HasSubstr("sizes_bytes"));
    EXPECT_FALSE(read_plan("/dev/zero"));
    EXPECT_FALSE(read_plan("/nowhere"));
}

TEST_F(PlanFile, IsHeldToTheLimitsBeforeItIsExpanded) {
    for (const char* text :
         {R"({"sizes_bytes": [0]})", R"({"qps": [0]})", R"({"reps": 0})", R"({"threads": 0})"}) {
        const auto plan = read(text);
        ASSERT_TRUE(plan) << text;
        EXPECT_FALSE(check_plan(*plan)) << text;
    }
    Json many = Json::array();
    for (int i = 1; i <= 64; ++i)
        many.push_back(i);
    const auto plan = read(base::dump_json(
        {{"sizes_bytes", many}, {"qps", many}, {"depths", many}, {"batches", many}}));
    ASSERT_TRUE(plan);
    const auto checked = check_plan(*plan);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr("combinations"));
}

TEST_F(PlanFile, StandsForAllOptionsOfAPlan) {
    std::ofstream(path_) << R"({"verbs": ["read"], "connect": "cm", "iterations": 5})";
    const char* alone[] = {"rdma-perf", "run", "10.9.0.1", "--plan", path_.c_str()};
    const auto command = parse_command_line(5, alone);
    ASSERT_TRUE(command) << command.error().message();
    const MeasureOptions& measure = std::get<RunOptions>(*command).measure;
    EXPECT_EQ(measure.plan.verbs, (std::vector<Verb>{Verb::Read}));
    EXPECT_TRUE(measure.side.by_cm);
    const char* both[] = {"rdma-perf", "run", "h", "--plan", path_.c_str(), "--verb", "read"};
    EXPECT_EQ(parse_command_line(7, both).error().code, Code::Usage);
}

TEST_F(PlanFile, ThoseOfEvaluationsAreWhatTheWordThesisMeans) {
    for (const std::string suite : {"basic", "cpu", "multi_dev", "multi_qp"}) {
        auto plan = read_plan(SOURCE_DIR "/examples/evaluation/plans/" + suite + ".json");
        ASSERT_TRUE(plan) << plan.error().message();
        const char* words[] = {"rdma-perf", "thesis", "h", "--suite", suite.c_str()};
        const auto command = parse_command_line(5, words);
        ASSERT_TRUE(command) << command.error().message();
        const Plan& meant = std::get<RunOptions>(*command).measure.plan;
        plan->seed = meant.seed;
        EXPECT_EQ(to_json(*plan), to_json(meant)) << suite;
    }
}

}  // namespace
}  // namespace perf
