// SPDX-License-Identifier: Apache-2.0
// What runs write, over the fake provider: repetitions, their summary, CSV and JSONL.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/commands.h"
#include "perf/measure/schedule.h"
#include "perf/report/report.h"
#include "tests/support/regex.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/perf/document_check.h"
#include "tests/unit/perf/fake_verbs.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

TEST(Schedule, RoundsAlternateTheirDirection) {
    const Plan plan{.verbs = {Verb::Write},
                    .modes = {Mode::Bandwidth},
                    .sizes = {1, 2, 3},
                    .iterations = 1,
                    .reps = 3};
    std::vector<uint32_t> sizes;
    std::vector<uint32_t> reps;
    const auto all = batches(plan, 1);
    ASSERT_EQ(all.size(), 1U);
    for (const Turn& turn : all.front().turns) {
        sizes.push_back(turn.point.size);
        reps.push_back(turn.rep);
    }
    EXPECT_THAT(sizes, ElementsAre(1, 2, 3, 3, 2, 1, 1, 2, 3));
    EXPECT_THAT(reps, ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3));
}

TEST(Schedule, ARampHasABatchForEachNumberOfClients) {
    Plan plan{.verbs = {Verb::Write},
              .modes = {Mode::Bandwidth},
              .sizes = {1, 2},
              .iterations = 1,
              .reps = 2};
    const auto together = batches(plan, 3);
    ASSERT_EQ(together.size(), 1U);
    EXPECT_EQ(together[0].clients, 3U);
    EXPECT_EQ(together[0].turns.size(), 4U);
    plan.hosts = Hosts::Ramp;
    std::vector<size_t> clients;
    std::vector<uint32_t> first_sizes;
    for (const Batch& batch : batches(plan, 3)) {
        clients.push_back(batch.clients);
        ASSERT_EQ(batch.turns.size(), 2U);
        first_sizes.push_back(batch.turns[0].point.size);
    }
    EXPECT_THAT(clients, ElementsAre(3, 2, 1, 1, 2, 3));
    EXPECT_THAT(first_sizes, ElementsAre(1, 1, 1, 2, 2, 2)) << "the second round runs backwards";
}

TEST(Summary, CostIsOfBothMachinesForWhatWasMoved) {
    PointResult result = test::bandwidth_result(1, 1000);
    result.usage.client.cpu = CpuUse{.window_s = 1, .machine_busy_s = 0.5};
    result.usage.server.cpu = CpuUse{.window_s = 1, .machine_busy_s = 0.25};
    result.usage.payload_bytes = 2'000'000'000;
    const auto rows = summarize({result});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[2].metric->name, "core_s_per_gb");
    EXPECT_DOUBLE_EQ(rows[2].estimate.median, 0.375);
    EXPECT_EQ(human_value(*rows[2].metric, 0.375), "0.38 core s/GB");
}

TEST(Summary, NumbersKeepDigitsThatSaySomething) {
    EXPECT_EQ(human_bandwidth(12.265e9), "98.12 Gb/s");
    EXPECT_EQ(human_bandwidth(52.5e6), "0.420 Gb/s");
    EXPECT_EQ(human_rate(123'456'789), "123.46 Mpps");
    EXPECT_EQ(human_rate(344), "0.000344 Mpps");
    EXPECT_EQ(human_rate(0), "0.000000 Mpps");
    EXPECT_EQ(human_time(1234), "1.23 us");
}

TEST(Schedule, LimitsAreNamed) {
    const auto refused = [](uint32_t reps, size_t points) {
        Plan plan;
        plan.reps = reps;
        return !check_reps(plan.reps, points);
    };
    EXPECT_TRUE(refused(0, 1));
    EXPECT_TRUE(refused(1001, 1));
    EXPECT_TRUE(refused(1000, 33));
    EXPECT_FALSE(refused(1000, 32));
    EXPECT_FALSE(refused(1, 1024));
}

TEST(Sides, AreNamedWithWhatIsKnownOfThem) {
    Report report = test::sample_report();
    Pairing& pair = report.pairs.front();
    EXPECT_THAT(side_text("client", report.client, std::nullopt), "client without a device on h\n");
    report.client.platform.cpu = "AMD EPYC 9654";
    EXPECT_THAT(side_text("client", report.client, pair.client_device),
                testing::EndsWith(", MTU 1024) on h  AMD EPYC 9654\n"));
    pair.client_device->identity = {
        .part = "02c9:101d", .board = "", .firmware = "22.41.1000", .pcie = "16.0 GT/s PCIe x16"};
    EXPECT_THAT(side_text("client", report.client, pair.client_device),
                testing::EndsWith(" on h  02c9:101d  firmware 22.41.1000\n"
                                  "      16.0 GT/s PCIe x16  AMD EPYC 9654\n"));
    pair.client_device->identity = {.part = "ffffff:0000", .board = "", .firmware = "0.0.0"};
    EXPECT_THAT(side_text("client", report.client, pair.client_device),
                testing::Not(HasSubstr("firmware")))
        << "a software device has none";
}

TEST(Summary, OneRowForEachPointAndMetric) {
    const Report report = test::sample_report();
    const auto rows = summarize(report.results);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0].metric->name, "bandwidth_bytes_per_s");
    EXPECT_EQ(rows[1].metric->name, "rate_messages_per_s");
    EXPECT_EQ(rows[2].metric->name, "p50_ns");
    EXPECT_EQ(rows[3].metric->name, "p99_ns");
    EXPECT_NEAR(rows[1].estimate.median, 100'350, 1);
    EXPECT_EQ(rows[1].estimate.n, 6U);
    EXPECT_NEAR(rows[1].estimate.interval->low, 100'100, 1);
    EXPECT_NEAR(rows[1].estimate.interval->high, 100'600, 1);
    const std::string table = summary_table(rows, 6);
    EXPECT_THAT(table, HasSubstr("median of 6 repetitions"));
    EXPECT_EQ(lines_of(table).size(), 1 + 1 + 4U);
}

TEST(Summary, WrongDataHasNoNumbers) {
    EXPECT_TRUE(summarize({test::wrong_result(1)}).empty());
    EXPECT_EQ(summarize({test::wrong_result(1), test::bandwidth_result(2, 5)})[0].estimate.n, 1U);
}

TEST(Quantiles, AreOnlyShownWhereTheSamplesCarryThem) {
    const Json few = to_json(test::latency_result(1, 1000, 999))["latency"];
    EXPECT_TRUE(few["p99_9_ns"].is_null());
    const Json some = to_json(test::latency_result(1, 1000, 1000))["latency"];
    EXPECT_EQ(some["p99_9_ns"], 4000);
    EXPECT_TRUE(some["p99_99_ns"].is_null());
    EXPECT_EQ(to_json(test::latency_result(1, 1000, 10'000))["latency"]["p99_99_ns"], 5000);
    EXPECT_THAT(table_row(test::latency_result(1, 1000, 999)),
                HasSubstr("avg 1.00  p50 1.00  p90 2.00\n      p99 3.00  p99.9 -  p99.99 -  max"));
    EXPECT_THAT(table_row(test::latency_result(1, 1000)),
                HasSubstr("p90 2.00\n      p99 3.00  p99.9 4.00  p99.99 5.00  max 6.00 us"));
}

TEST(Csv, QuotesWhatSeparates) {
    EXPECT_EQ(csv_field("plain"), "plain");
    EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
    EXPECT_EQ(csv_field("a\r\nb"), "\"a\r\nb\"");
}

TEST(Csv, EveryRowHasEveryColumn) {
    const std::string head = csv_header();
    // A column keeps its number: new ones go to the end.
    EXPECT_EQ(head,
              "rep,verb,mode,transport,size_bytes,depth,batch,mtu_bytes,poll,server_poll,"
              "inline_bytes,verify,seed,data_ok,messages,window_s,bandwidth_bytes_per_s,"
              "rate_messages_per_s,kind,samples,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,p99_9_ns,"
              "p99_99_ns,max_ns,qps,threads,clients,direction,rate_per_s,connect,"
              "ordering,server_ordering,traffic_class,service_level,flow_label,pkey_index,reads,"
              "signal,complete,with\r\n");
    const auto commas = std::count(head.begin(), head.end(), ',');
    for (const PointResult& result : {test::bandwidth_result(2, 100'000),
                                      test::latency_result(1, 9, 5),
                                      test::wrong_result(3)}) {
        const std::string row = csv_row(result);
        EXPECT_EQ(std::count(row.begin(), row.end(), ','), commas) << row;
        EXPECT_TRUE(row.ends_with("\r\n"));
    }
    EXPECT_TRUE(
        csv_row(test::bandwidth_result(2, 100'000))
            .starts_with("2,write,bw,rc,4096,128,16,1024,yield,auto,0,edges,0,true,100000,1.0,"
                         "409600000.0,100000.0,,"))
        << csv_row(test::bandwidth_result(2, 100'000));
}

TEST(OutputOptions, OnlyOneIsStandardOutput) {
    MeasureOptions options;
    EXPECT_FALSE(data_on_stdout(options));
    options.csv = "-";
    EXPECT_TRUE(data_on_stdout(options));
    EXPECT_TRUE(check_outputs(options));
    options.jsonl = "-";
    const auto refused = check_outputs(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::Code::Usage);
}

class OutputFiles : public testing::Test {
  protected:
    OutputFiles() {
        measure_.plan = {.verbs = {Verb::Write, Verb::Send},
                         .modes = {Mode::Bandwidth, Mode::Latency},
                         .sizes = {64},
                         .iterations = 50,
                         .seed = 3,
                         .reps = 3};
        measure_.side.timeout = std::chrono::seconds(2);
    }

    Exit run_loop() {
        std::FILE* out = std::fopen((dir_ / "out").c_str(), "we");
        std::FILE* err = std::fopen((dir_ / "err").c_str(), "we");
        const Exit exit = loop({measure_}, {verbs_, stop_, out, err});
        (void)std::fclose(out);
        (void)std::fclose(err);
        return exit;
    }

    [[nodiscard]] std::string text_of(const std::string& name) const {
        const std::ifstream file(dir_ / name);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    test::TempDir dir_;
    test::FakeVerbs verbs_;
    Stop stop_;
    MeasureOptions measure_;
};

TEST_F(OutputFiles, RepetitionsEverywhere) {
    measure_.json = dir_ / "json";
    measure_.csv = dir_ / "csv";
    measure_.jsonl = "-";
    EXPECT_EQ(run_loop(), Exit::Ok) << text_of("err");
    const Json report = base::parse_json(text_of("json"), "json").value();
    EXPECT_EQ(report["plan"]["reps"], 3);
    ASSERT_EQ(report["results"].size(), 12U);
    EXPECT_EQ(report["results"][3]["point"], report["results"][4]["point"]) << "Z..A after A..Z";
    EXPECT_EQ(report["results"][4]["rep"], 2);
    const auto timed = [](const Json& row) { return row["metric"] != "core_s_per_gb"; };
    ASSERT_EQ(std::count_if(report["summary"].begin(), report["summary"].end(), timed), 8);
    EXPECT_EQ(report["summary"][0]["n"], 3);
    EXPECT_EQ(report["summary"][0]["point"], report["results"][0]["point"]);
    EXPECT_EQ(lines_of(text_of("csv")).size(), 1 + 12U);
    const auto lines = lines_of(text_of("out"));
    ASSERT_EQ(lines.size(), 1 + 12 + 1U);
    EXPECT_EQ(base::parse_json(lines.front(), "run").value()["type"], "run");
    EXPECT_EQ(base::parse_json(lines[1], "result").value()["point"], report["results"][0]["point"]);
    EXPECT_EQ(base::parse_json(lines.back(), "end").value()["summary"], report["summary"]);
    EXPECT_THAT(text_of("err"), HasSubstr("median of 3 repetitions"));
}

TEST_F(OutputFiles, OneRepetitionHasNoSummaryInTheTable) {
    measure_.plan.reps = 1;
    EXPECT_EQ(run_loop(), Exit::Ok);
    EXPECT_THAT(text_of("out"), testing::Not(HasSubstr("median of")));
}

TEST_F(OutputFiles, WhatWasMeasuredIsThereWhenTheRestFails) {
    measure_.csv = dir_ / "csv";
    measure_.jsonl = dir_ / "jsonl";
    verbs_.fail_messages(500);
    EXPECT_EQ(run_loop(), Exit::Peer);
    EXPECT_GE(lines_of(text_of("csv")).size(), 2U);
    const Json end = base::parse_json(lines_of(text_of("jsonl")).back(), "end").value();
    EXPECT_EQ(end["type"], "end");
    EXPECT_EQ(end["errors"][0]["code"], "unavailable");
}

TEST_F(OutputFiles, AnInterruptLeavesAllThatIsComplete) {
    measure_.json = dir_ / "json";
    measure_.jsonl = dir_ / "jsonl";
    measure_.plan.verbs = {Verb::Write};
    measure_.plan.modes = {Mode::Bandwidth};
    measure_.plan.reps = 1;
    measure_.plan.iterations = 0;
    measure_.plan.time_ms = kForever;
    measure_.plan.interval_ms = kMinIntervalMs;
    std::jthread interrupter([this](const std::stop_token& over) {
        // An interval that brought something is a line of the table.
        const std::string rate = R"( s  .*[1-9][0-9.]* Mpps)";
        while (test::find_match(text_of("out"), rate).empty() && !over.stop_requested())
            std::this_thread::yield();
        stop_.interrupt();
    });
    const Exit exit = run_loop();
    interrupter.request_stop();
    EXPECT_EQ(exit, Exit::Interrupted) << text_of("err");
    EXPECT_THAT(text_of("out"), HasSubstr("  interrupted"));
    EXPECT_THAT(text_of("err"), HasSubstr("stopped by a signal"));
    const Json report = base::parse_json(text_of("json"), "json").value();
    EXPECT_THAT(test::schema_problems(report), testing::IsEmpty());
    EXPECT_EQ(report["plan"]["time_ms"], "forever");
    ASSERT_EQ(report["results"].size(), 1U);
    const Json& result = report["results"][0];
    EXPECT_EQ(result["complete"], false);
    EXPECT_EQ(result["point"]["time_ms"], "forever");
    EXPECT_EQ(report["errors"].size(), 1U);
    std::vector<Json> intervals;
    for (const std::string& line : lines_of(text_of("jsonl"))) {
        Json json = base::parse_json(line, "line").value();
        if (json["type"] == "interval")
            intervals.push_back(std::move(json));
    }
    ASSERT_EQ(intervals.size(), result["intervals"].size());
    ASSERT_GE(intervals.size(), 1U);
    EXPECT_EQ(intervals.front()["of"], "write bw 64 B");
    EXPECT_EQ(intervals.front()["bandwidth"], result["intervals"][0]["bandwidth"]);
}

TEST_F(OutputFiles, WhatIsWrittenHasLeftTheProcess) {
    const auto sink = Sink::open(dir_ / "file", nullptr);
    ASSERT_TRUE(sink);
    ASSERT_TRUE(sink->write("one\n"));
    EXPECT_EQ(text_of("file"), "one\n") << "the sink is still open";
}

TEST_F(OutputFiles, PlaceThatCannotBeWrittenIsSaidBeforeMeasuring) {
    measure_.csv = dir_ / "no/such/folder";
    EXPECT_EQ(run_loop(), Exit::Environment);
    EXPECT_EQ(verbs_.messages(), 0U);
    EXPECT_THAT(text_of("err"), HasSubstr("no/such/folder"));
    measure_.csv = "/dev/full";
    EXPECT_NE(run_loop(), Exit::Ok);
    EXPECT_THAT(text_of("err"), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace perf
