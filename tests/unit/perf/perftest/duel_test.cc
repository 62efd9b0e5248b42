// SPDX-License-Identifier: Apache-2.0
// Both sides of a comparison with perftest, over the fake provider and programs that stand for
// perftest's.
#include "perf/suites/perftest/duel.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/commands.h"
#include "perf/suites/perftest/report.h"
#include "tests/unit/perf/perftest/bench.h"
#include "tests/unit/perf/session_pair.h"

namespace perf::perftest {
namespace {

using base::Code;
using base::Deadline;
using base::Json;
using base::Result;
using test::Bench;
using test::FakeVerbs;
using testing::HasSubstr;
using namespace std::chrono_literals;

SideOptions side(const Bench& bench, bool allow = true, std::chrono::milliseconds timeout = 10s) {
    SideOptions side = options(timeout);
    side.allow_perftest = allow;
    side.perftest_folders = bench.folders();
    return side;
}

Plan plan_of(Verb verb = Verb::Write, Mode mode = Mode::Latency) {
    return {.verbs = {verb}, .modes = {mode}, .sizes = {64}, .iterations = 50, .seed = 3};
}

class PerftestDuel : public testing::Test {
  protected:
    Result<Cell> fight(const Plan& plan,
                       bool allow = true,
                       std::chrono::milliseconds timeout = 10s) {
        Pair pair(verbs_, side(bench_, allow, timeout));
        auto cell = [&]() -> Result<Cell> {
            Client client = TRY(pair.client(verbs_));
            auto duel = TRY(Duel::enter(client, plan, bench_.folders(), timeout));
            return duel.run(points_of(plan).front());
        }();
        outcome_ = pair.outcome();
        EXPECT_EQ(verbs_.objects(), 0U) << "objects are left";
        EXPECT_FALSE(bench_.is_alive("server"));
        EXPECT_FALSE(bench_.is_alive("client"));
        return cell;
    }

    std::string failure(const std::string& behaviour,
                        Code code,
                        std::chrono::milliseconds timeout = 2s) {
        bench_.behave(behaviour);
        const auto cell = fight(plan_of(), true, timeout);
        EXPECT_FALSE(cell) << behaviour;
        if (cell)
            return "";
        EXPECT_EQ(cell.error().code, code) << cell.error().message();
        return cell.error().message();
    }

    // A comparison in which one run of perftest fails by that behaviour, and is made again.
    Result<Cell> fight_with_one_failure(const std::string& behaviour) {
        bench_.behave(behaviour);
        Plan plan = plan_of();
        plan.most_pairs = 6;
        Cell cell = TRY(fight(plan));
        EXPECT_EQ(cell.pairs.size(), 6U);
        EXPECT_EQ(cell.failures, 1U);
        return cell;
    }

    Bench bench_;
    FakeVerbs verbs_;
    Result<> outcome_;
};

TEST_F(PerftestDuel, PairsOfOursAndTheirs) {
    Plan plan = plan_of();
    plan.most_pairs = 7;
    const auto cell = fight(plan);
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_TRUE(outcome_) << outcome_.error().message();
    EXPECT_GE(cell->pairs.size(), 6U);
    EXPECT_LE(cell->pairs.size(), 7U);
    for (const RunPair& pair : cell->pairs) {
        EXPECT_EQ(pair.a, 2000) << "the program prints 2 us";
        EXPECT_GT(pair.b, 0);
    }
    ASSERT_TRUE(cell->ratio.interval);
    EXPECT_LE(cell->ratio.interval->low, cell->ratio.ratio);
    ASSERT_TRUE(cell->trial.settings);
    EXPECT_TRUE(cell->trial.settings->immediate);
    EXPECT_THAT(bench_.arguments("client"), HasSubstr("-s 64 -n 50 -m 1024 -I 64"));
    EXPECT_THAT(bench_.arguments("server"), HasSubstr("--bind_source_ip 127.0.0.1"));
}

TEST_F(PerftestDuel, BandwidthWithTheDepthAndBatchOfOurs) {
    Plan plan = plan_of(Verb::Read, Mode::Bandwidth);
    plan.most_pairs = 6;
    const auto cell = fight(plan);
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_EQ(cell->pairs.size(), 6U);
    EXPECT_EQ(cell->pairs.front().a, 64'000);
    EXPECT_EQ(cell->verdict, Verdict::Faster) << "a fake device is faster than 1000 messages/s";
    EXPECT_THAT(bench_.arguments("server"), HasSubstr("-D 1 -m 1024 -t 128 -Q 16 -l 16 -o "));
}

TEST_F(PerftestDuel, DefaultsGiveNeitherASetting) {
    Plan plan = plan_of(Verb::Send);
    plan.defaults = true;
    const auto cell = fight(plan);
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_FALSE(cell->trial.settings);
    EXPECT_EQ(cell->point.poll.mode, PollMode::Auto);
    EXPECT_THAT(bench_.arguments("client"), HasSubstr("-s 64 -n 50 127.0.0.1"));
}

TEST_F(PerftestDuel, WrongDataIsNotMeasured) {
    verbs_.inject(test::Fault::BitFlip, 0);
    const auto cell = fight(plan_of());
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_TRUE(cell->wrong);
    EXPECT_TRUE(cell->pairs.empty());
    EXPECT_FALSE(bench_.was_started("client"));
}

TEST_F(PerftestDuel, AServerThatDoesNotAllowIt) {
    const auto cell = fight(plan_of(), false);
    ASSERT_FALSE(cell);
    EXPECT_EQ(cell.error().code, Code::BadInput);
    EXPECT_THAT(cell.error().message(), HasSubstr("rdma-perf serve --allow-perftest"));
    EXPECT_FALSE(bench_.was_started("server"));
}

TEST_F(PerftestDuel, AServerRefusesWhoAsksNevertheless) {
    for (const bool allow : {false, true}) {
        Pair pair(verbs_, side(bench_, allow));
        {
            auto client = pair.client(verbs_);
            ASSERT_TRUE(client) << client.error().message();
            const auto frame =
                allow ? message("perftest_start", to_json(trial_of(points_of(plan_of()).front())))
                      : message("perftest_probe");
            const auto answer = client->control().ask(frame, "perftest_probed", Deadline::in(5s));
            ASSERT_FALSE(answer);
            EXPECT_THAT(answer.error().message(),
                        HasSubstr(allow ? "not due before 'perftest_probe'"
                                        : "rdma-perf serve --allow-perftest"));
        }
        EXPECT_FALSE(pair.outcome());
        EXPECT_FALSE(bench_.was_started("server"));
    }
}

TEST_F(PerftestDuel, MissingHereOrThereNamesThePackage) {
    bench_.remove("ib_write_bw");
    const auto cell = fight(plan_of());
    ASSERT_FALSE(cell);
    EXPECT_EQ(cell.error().code, Code::Unsupported);
    EXPECT_THAT(cell.error().message(), HasSubstr("install the package perftest"));

    const Bench whole;
    Pair pair(verbs_, side(bench_));
    {
        auto client = pair.client(verbs_);
        ASSERT_TRUE(client);
        const auto duel = Duel::enter(*client, plan_of(), whole.folders(), 10s);
        ASSERT_FALSE(duel);
        EXPECT_EQ(duel.error().code, Code::Unsupported);
        EXPECT_THAT(duel.error().message(), HasSubstr("the peer says: there is no ib_write_bw"));
    }
    EXPECT_FALSE(pair.outcome());
}

TEST_F(PerftestDuel, AProgramThatFailsGivesItsLastLine) {
    EXPECT_THAT(failure("client fails", Code::Unsupported),
                HasSubstr("ib_write_lat failed with 1 on this side: no such device"));
    EXPECT_THAT(failure("server fails", Code::Unsupported),
                HasSubstr("ib_write_lat ended with 1 before it listened: no such device"));
    EXPECT_THAT(failure("client garbage", Code::Unsupported),
                HasSubstr("columns that are not known: #bytes \\x1b[2J"));
    EXPECT_THAT(failure("client floods", Code::Unsupported), HasSubstr("printed more than"));
    EXPECT_THAT(failure("server leaves a child", Code::Unsupported),
                HasSubstr("ended with 0 before it listened"));
}

TEST_F(PerftestDuel, ARunWithoutAClockIsMadeAgainAndCounted) {
    const auto cell = fight_with_one_failure("client has no clock once");
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_THAT(cell->failure, HasSubstr("printed 'inf': it could not tell how fast"));
}

TEST_F(PerftestDuel, ARunThatFailsIsMadeAgainAndCounted) {
    const auto cell = fight_with_one_failure("client fails once");
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_THAT(cell->failure, HasSubstr("failed with 1 on this side: the other end is gone"));
    EXPECT_THAT(table_row(*cell), HasSubstr("perftest failed 1 time and was run again: ib_write"));
}

// Another program may bind it after it was found free.
TEST_F(PerftestDuel, APortTakenMeanwhileIsChangedForAnother) {
    bench_.behave("server fails once");
    Plan plan = plan_of();
    plan.most_pairs = 6;
    const auto cell = fight(plan);
    ASSERT_TRUE(cell) << cell.error().message();
    EXPECT_EQ(bench_.behaviour(), "well") << "it was not in the way";
    EXPECT_EQ(cell->pairs.size(), 6U);
    EXPECT_EQ(cell->failures, 0U);
}

TEST_F(PerftestDuel, AServerThatNeverListensEndsAtTheDeadline) {
    EXPECT_THAT(failure("server hangs", Code::Timeout), HasSubstr("does not listen"));
}

// Starts a program at the server and leaves.
TEST_F(PerftestDuel, TheProgramEndsWhenTheClientGoes) {
    Pair pair(verbs_, side(bench_));
    {
        auto client = pair.client(verbs_);
        ASSERT_TRUE(client);
        Control& control = client->control();
        const auto trial = trial_of(points_of(plan_of()).front());
        ASSERT_TRUE(control.ask(message("perftest_probe"), "perftest_probed", Deadline::in(10s)));
        ASSERT_TRUE(control.ask(
            message("perftest_start", to_json(trial)), "perftest_started", Deadline::in(10s)));
        EXPECT_TRUE(bench_.is_alive("server"));
    }
    EXPECT_FALSE(pair.outcome()) << "it went in the middle";
    EXPECT_FALSE(bench_.is_alive("server"));
}

TEST_F(PerftestDuel, TheProgramEndsWhenTheServerStops) {
    Pair pair(verbs_, side(bench_));
    auto client = pair.client(verbs_);
    ASSERT_TRUE(client);
    Control& control = client->control();
    const auto trial = trial_of(points_of(plan_of()).front());
    ASSERT_TRUE(control.ask(message("perftest_probe"), "perftest_probed", Deadline::in(10s)));
    ASSERT_TRUE(control.ask(
        message("perftest_start", to_json(trial)), "perftest_started", Deadline::in(10s)));
    // A second one for the same client is not due.
    EXPECT_TRUE(bench_.is_alive("server"));
    pair.stop.request();
    EXPECT_FALSE(pair.outcome());
    EXPECT_FALSE(bench_.is_alive("server"));
}

TEST_F(PerftestDuel, OneAtATimeForEachClient) {
    Pair pair(verbs_, side(bench_));
    {
        auto client = pair.client(verbs_);
        ASSERT_TRUE(client);
        Control& control = client->control();
        const auto start =
            message("perftest_start", to_json(trial_of(points_of(plan_of()).front())));
        ASSERT_TRUE(control.ask(message("perftest_probe"), "perftest_probed", Deadline::in(10s)));
        ASSERT_TRUE(control.ask(start, "perftest_started", Deadline::in(10s)));
        const auto second = control.ask(start, "perftest_started", Deadline::in(10s));
        ASSERT_FALSE(second);
        EXPECT_THAT(second.error().message(), HasSubstr("'perftest_start' is not due"));
    }
    EXPECT_FALSE(pair.outcome());
    EXPECT_FALSE(bench_.is_alive("server"));
}

// ---- what is said of it -------------------------------------------------------------------------

Cell sample_cell(double ours) {
    Cell cell{.point = points_of(plan_of()).front(), .trial = {}};
    cell.trial = trial_of(cell.point);
    for (int i = 0; i < 6; ++i)
        cell.pairs.push_back({.a = 2000, .b = ours});
    cell.ratio = estimate_paired_ratio(cell.pairs);
    cell.verdict = judge(cell.ratio, metric_of(cell).better);
    return cell;
}

TEST(PerftestReport, LineAndDocument) {
    Findings findings{.started = "2020-01-01T00:00:00Z", .plan = plan_of()};
    findings.server = own_hello();
    findings.client_perftest.version = "6.24";
    findings.cells = {sample_cell(1000)};
    const std::string row = table_row(findings.cells.front());
    for (const char* text :
         {"write lat 64 B", "1.00 us", "2.00 us", "0.500", "0.500 to 0.500", "6"})
        EXPECT_THAT(row, HasSubstr(text));
    EXPECT_THAT(row, HasSubstr("faster"));
    EXPECT_EQ(std::ranges::count(row, '\n'), 1);
    const Json json = to_json(findings);
    EXPECT_EQ(json["schema"], "rdma-perf-compare-perftest/1");
    EXPECT_EQ(json["env"]["client"]["perftest"], "6.24");
    EXPECT_TRUE(json["env"]["server"]["perftest"].is_null());
    EXPECT_EQ(json["env"]["server"]["version"], RDMA_VERSION);
    const Json& result = json["results"][0];
    EXPECT_EQ(result["pairs"].size(), 6U);
    EXPECT_EQ(result["pairs"][0]["rdma_perf"], 1000);
    EXPECT_EQ(result["pairs"][0]["perftest"], 2000);
    EXPECT_EQ(result["metric"], "p50_ns");
    EXPECT_EQ(result["verdict"], "faster");
    EXPECT_EQ(result["perftest_failures"], 0);
    EXPECT_TRUE(result["settings"].is_null());
    EXPECT_TRUE(json["errors"].empty());
}

TEST(PerftestReport, WhatIsExpected) {
    Findings findings{.started = "", .plan = plan_of()};
    EXPECT_FALSE(findings.meets(Expect::NotSlower)) << "a cell is missing";
    findings.cells = {sample_cell(1000)};
    EXPECT_TRUE(findings.meets(Expect::Nothing));
    EXPECT_TRUE(findings.meets(Expect::Faster));
    EXPECT_TRUE(findings.meets(Expect::NotSlower));
    EXPECT_FALSE(findings.meets(Expect::Equal));
    findings.cells = {sample_cell(2000)};
    EXPECT_FALSE(findings.meets(Expect::Faster));
    EXPECT_TRUE(findings.meets(Expect::NotSlower));
    EXPECT_TRUE(findings.meets(Expect::Equal));
    findings.cells = {sample_cell(3000)};
    EXPECT_FALSE(findings.meets(Expect::NotSlower));
    findings.cells.front().wrong = true;
    EXPECT_TRUE(findings.corrupt());
}

}  // namespace
}  // namespace perf::perftest
