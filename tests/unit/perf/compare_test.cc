// SPDX-License-Identifier: Apache-2.0
#include "perf/report/compare.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/commands.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/perf/document_check.h"
#include "tests/unit/perf/fake_verbs.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ReportFile file_of(const Json& report, const std::string& name) {
    return parse_report(report.dump(), name).value();
}

ReportFile sample_file(const std::string& name, double factor = 1) {
    return file_of(test::document_of(test::sample_report(factor)), name);
}

std::vector<Verdict> verdicts(const Comparison& comparison) {
    std::vector<Verdict> out;
    for (const Compared& row : comparison.rows)
        out.push_back(row.verdict);
    return out;
}

// Bandwidth of the first point, p50 and p99 of the second.
TEST(Compare, EqualReportsAreEqual) {
    const auto comparison = compare_reports(sample_file("a"), sample_file("b"), {});
    EXPECT_TRUE(comparison.fair());
    EXPECT_THAT(verdicts(comparison), ElementsAre(Verdict::Equal, Verdict::Equal, Verdict::Equal));
    EXPECT_NEAR(comparison.rows[0].ratio.ratio, 1, 1e-9);
    EXPECT_TRUE(comparison.meets(Expect::Equal));
    EXPECT_TRUE(comparison.meets(Expect::NotSlower));
}

TEST(Compare, MoreBandwidthIsFasterMoreLatencySlower) {
    const auto comparison = compare_reports(sample_file("a"), sample_file("b", 1.5), {});
    EXPECT_THAT(verdicts(comparison),
                ElementsAre(Verdict::Faster, Verdict::Slower, Verdict::Slower));
    EXPECT_NEAR(comparison.rows[0].ratio.ratio, 1.5, 0.01);
    EXPECT_FALSE(comparison.meets(Expect::Equal));
    EXPECT_FALSE(comparison.meets(Expect::NotSlower));
    EXPECT_TRUE(comparison.meets(std::nullopt));
}

TEST(Compare, OneRepetitionIsNotEnough) {
    Report report = test::sample_report();
    report.results.resize(2);
    const auto file = file_of(test::document_of(report), "b");
    const auto comparison = compare_reports(sample_file("a"), file, {});
    EXPECT_THAT(verdicts(comparison), testing::Each(Verdict::NotEnoughData));
    EXPECT_FALSE(comparison.meets(Expect::NotSlower)) << "unknown is not good";
}

TEST(Compare, UnequalSettingsAreRefusedUntilAllowed) {
    Json report = test::document_of(test::sample_report());
    for (Json& result : report["results"])
        result["point"]["mtu_bytes"] = 4096;
    report["env"]["server"]["kernel"] = "6.8.0";
    report["env"]["client"]["device"]["gid_type"] = "RoCE v1";
    const auto a = sample_file("a.json");
    const auto b = file_of(report, "b.json");
    const auto refused = compare_reports(a, b, {"mtu"});
    EXPECT_FALSE(refused.fair());
    const std::string text = refusal_text(refused, a, b);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
    EXPECT_THAT(
        text,
        AllOf(HasSubstr("server's kernel: 6.1.0 in a.json, 6.8.0 in b.json; --allow kernel"),
              HasSubstr("client's GID type: RoCE v2 in a.json, RoCE v1 in b.json")));
    const auto allowed = compare_reports(a, b, {"mtu", "kernel", "gid"});
    EXPECT_TRUE(allowed.fair());
    EXPECT_EQ(allowed.rows.size(), 3U);
    EXPECT_THAT(
        table_of(allowed, a, b),
        HasSubstr("not equal, allowed: path MTU: 1024 in a.json, 4096 in b.json (2 points)"));
}

TEST(Compare, AdaptersAreToldApartWhereBothReportsTell) {
    Report report = test::sample_report();
    const auto silent = file_of(test::document_of(report), "silent");
    report.pairs.front().client_device->identity = {.part = "02c9:1017", .firmware = "16.35.4030"};
    const auto older = file_of(test::document_of(report), "older");
    report.pairs.front().client_device->identity = {
        .part = "02c9:101d", .firmware = "22.41.1000", .pcie = "16.0 GT/s PCIe x8"};
    const auto newer = file_of(test::document_of(report), "newer");
    EXPECT_TRUE(compare_reports(silent, newer, {}).fair());
    const auto refused = compare_reports(older, newer, {"firmware"});
    EXPECT_FALSE(refused.fair());
    const std::string text = refusal_text(refused, older, newer);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_THAT(text, HasSubstr("client's adapter: 02c9:1017 in older, 02c9:101d in newer"));
    EXPECT_TRUE(compare_reports(older, newer, {"adapter", "firmware"}).fair());
}

TEST(Compare, MachinesAreToldApartWhereBothReportsTell) {
    Report report = test::sample_report();
    report.client.platform = report.pairs.front().server.platform = {};
    const auto silent = file_of(test::document_of(report), "silent");
    report.pairs.front().server.platform = {
        .cpu = "one", .governor = "powersave", .rdma_core = "44.0"};
    const auto before = file_of(test::document_of(report), "before");
    report.pairs.front().server.platform = {
        .cpu = "other", .governor = "performance", .rdma_core = "58.0"};
    const auto after = file_of(test::document_of(report), "after");
    EXPECT_TRUE(compare_reports(silent, after, {}).fair());
    const auto refused = compare_reports(before, after, {});
    EXPECT_FALSE(refused.fair());
    const std::string text = refusal_text(refused, before, after);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
    EXPECT_THAT(
        text,
        AllOf(HasSubstr("server's processor: one in before, other in after; --allow cpu"),
              HasSubstr("server's frequency governor: powersave in before, performance in after"),
              HasSubstr("server's rdma-core: 44.0 in before, 58.0 in after; --allow rdma-core")));
    EXPECT_TRUE(compare_reports(before, after, {"cpu", "governor", "rdma-core"}).fair());
}

TEST(Compare, EverySettingOfAPointCounts) {
    for (const Setting& setting : kPointSettings) {
        Json report = test::document_of(test::sample_report());
        for (Json& result : report["results"])
            result["point"][std::string(setting.member)] = "other";
        const auto b = file_of(report, "b");
        EXPECT_FALSE(compare_reports(sample_file("a"), b, {}).fair()) << setting.member;
        EXPECT_TRUE(compare_reports(sample_file("a"), b, {std::string(setting.allow)}).fair());
        for (Json& result : report["results"])
            result["point"].erase(std::string(setting.member));
        if (setting.before.empty()) {
            EXPECT_FALSE(compare_reports(sample_file("a"), file_of(report, "b"), {}).fair());
        }
    }
}

TEST(Compare, ReportsOfOlderProgramsHaveWhatTheyMeasuredWith) {
    Report strict = test::sample_report();
    for (PointResult& result : strict.results)
        result.point.ordering = result.server_ordering = Ordering::Strict;
    Json old = test::document_of(strict);
    for (Json& result : old["results"]) {
        for (const Setting& setting : kPointSettings) {
            if (!setting.before.empty())
                result["point"].erase(std::string(setting.member));
        }
    }
    const auto before = file_of(old, "old");
    EXPECT_TRUE(compare_reports(before, file_of(test::document_of(strict), "new"), {}).fair());
    const auto refused = compare_reports(before, sample_file("relaxed"), {});
    EXPECT_THAT(refusal_text(refused, before, sample_file("relaxed")),
                HasSubstr("client's PCIe ordering: \"strict\" in old, \"relaxed\" in relaxed"));
    EXPECT_TRUE(compare_reports(before, sample_file("relaxed"), {"ordering"}).fair());
}

TEST(Compare, WhatOneReportDoesNotTellOfPostingIsNoDifference) {
    Report report = test::sample_report();
    for (PointResult& result : report.results)
        result.means = {.calls = "ibv_post_send", .polling = "plain", .domain = "none"};
    const auto plain = file_of(test::document_of(report), "plain");
    const auto refused = compare_reports(plain, sample_file("b"), {});
    EXPECT_THAT(refusal_text(refused, plain, sample_file("b")),
                HasSubstr("client's calls to post: \"ibv_post_send\" in plain, \"ibv_wr\" in b "
                          "(2 points); --allow posting"));
    EXPECT_TRUE(compare_reports(plain, sample_file("b"), {"posting"}).fair());
    for (PointResult& result : report.results)
        result.means = result.server_means = {};
    const auto silent = file_of(test::document_of(report), "silent");
    EXPECT_TRUE(compare_reports(plain, silent, {}).fair());
    EXPECT_TRUE(compare_reports(silent, sample_file("b"), {}).fair());
}

TEST(Compare, LengthAndVerificationAreNoReason) {
    Json report = test::document_of(test::sample_report());
    for (Json& result : report["results"]) {
        result["point"]["verify"] = "off";
        result["point"]["time_ms"] = 9;
        result["point"]["seed"] = 1;
    }
    EXPECT_TRUE(compare_reports(sample_file("a"), file_of(report, "b"), {}).fair());
}

TEST(Compare, PointsOfOneFileOnlyAreListed) {
    Json report = test::document_of(test::sample_report());
    for (Json& result : report["results"]) {
        if (result["point"]["mode"] == "lat")
            result["point"]["size_bytes"] = 128;
    }
    const auto a = sample_file("a");
    const auto b = file_of(report, "b");
    const auto comparison = compare_reports(a, b, {});
    EXPECT_EQ(comparison.rows.size(), 1U);
    EXPECT_THAT(comparison.only_a, ElementsAre("send lat 64 B"));
    EXPECT_THAT(comparison.only_b, ElementsAre("send lat 128 B"));
    EXPECT_FALSE(comparison.meets(Expect::Equal)) << "a point of A is not in B";
    EXPECT_THAT(table_of(comparison, a, b), HasSubstr("only in B: send lat 128 B"));
}

// A report with several settings of one point: each meets its equal, not its sibling.
TEST(Compare, SettingsOnPurposeMeetTheirEqual) {
    Json report = test::document_of(test::sample_report());
    Json more = report["results"];
    for (Json& result : more)
        result["point"]["transport"] = "ud";
    for (const Json& result : more)
        report["results"].push_back(result);
    const auto both = file_of(report, "both");
    const auto comparison = compare_reports(both, both, {});
    EXPECT_TRUE(comparison.fair());
    EXPECT_EQ(comparison.rows.size(), 6U);
    EXPECT_EQ(compare_reports(sample_file("a"), both, {}).only_b.size(), 2U);
}

TEST(Compare, WrongDataIsSaidAndNeverAsExpected) {
    Report report = test::sample_report();
    report.results.push_back(test::wrong_result(7));
    const auto a = sample_file("a");
    const auto b = file_of(test::document_of(report), "b");
    const auto comparison = compare_reports(a, b, {});
    EXPECT_THAT(comparison.wrong, ElementsAre("write bw 4 KiB: 1 of 7 repetitions in b"));
    EXPECT_FALSE(comparison.meets(Expect::Equal));
}

TEST(Compare, ForeignTextCannotDriveTheTerminal) {
    Json report = test::document_of(test::sample_report());
    report["started"] = "\x1b[2J";
    for (Json& result : report["results"])
        result["point"]["verb"] = "\x1b[31m";
    const auto b = file_of(report, "\x1b");
    const auto comparison = compare_reports(b, b, {});
    EXPECT_EQ(table_of(comparison, b, b).find('\x1b'), std::string::npos);
}

TEST(Compare, JsonHasEveryRow) {
    const auto a = sample_file("a");
    const auto b = sample_file("b", 1.5);
    const Json json = json_of(compare_reports(a, b, {}), a, b);
    ASSERT_EQ(json["rows"].size(), 3U);
    EXPECT_EQ(json["rows"][0]["point"]["verb"], "write");
    EXPECT_EQ(json["rows"][0]["metric"], "bandwidth_bytes_per_s");
    EXPECT_EQ(json["rows"][0]["verdict"], "faster");
    EXPECT_EQ(json["rows"][0]["a"]["n"], 6);
    EXPECT_EQ(json["rows"][0]["ci95"].size(), 2U);
}

class CompareCommand : public testing::Test {
  protected:
    void SetUp() override {
        put("a.json", test::document_of(test::sample_report()).dump());
        put("b.json", test::document_of(test::sample_report(1.5)).dump());
    }

    void put(const std::string& name, const std::string& text) {
        std::ofstream(dir_ / name) << text;
    }

    Exit run_compare(const std::string& b,
                     std::optional<Expect> expect,
                     const std::string& json = "") {
        std::FILE* out = std::fopen((dir_ / "out").c_str(), "we");
        std::FILE* err = std::fopen((dir_ / "err").c_str(), "we");
        const Exit exit = run_command(
            CompareOptions{
                .a = dir_ / "a.json", .b = dir_ / b, .allow = {}, .json = json, .expect = expect},
            {verbs_, stop_, out, err});
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
};

TEST_F(CompareCommand, ExitCodesForScripts) {
    EXPECT_EQ(run_compare("b.json", std::nullopt), Exit::Ok);
    EXPECT_THAT(text_of("out"), HasSubstr("faster"));
    EXPECT_EQ(run_compare("a.json", Expect::Equal), Exit::Ok);
    EXPECT_EQ(run_compare("b.json", Expect::Equal), Exit::Threshold);
    EXPECT_EQ(run_compare("b.json", Expect::NotSlower), Exit::Threshold);
    EXPECT_EQ(run_compare("none.json", std::nullopt), Exit::Usage);
    EXPECT_THAT(text_of("err"), HasSubstr("none.json"));
    put("broken.json", "{");
    EXPECT_EQ(run_compare("broken.json", std::nullopt), Exit::Usage);
}

TEST_F(CompareCommand, JsonOnStandardOutputMovesTheTable) {
    EXPECT_EQ(run_compare("b.json", std::nullopt, "-"), Exit::Ok);
    const auto json = base::parse_json(text_of("out"), "comparison");
    ASSERT_TRUE(json);
    EXPECT_EQ((*json)["kind"], "compare");
    EXPECT_THAT(test::schema_problems(*json), testing::IsEmpty());
    EXPECT_THAT(text_of("err"), HasSubstr("verdict"));
}

TEST_F(CompareCommand, NothingInCommonIsRefused) {
    Report report = test::sample_report();
    report.results.clear();
    put("empty.json", test::document_of(report).dump());
    EXPECT_EQ(run_compare("empty.json", std::nullopt), Exit::Usage);
    EXPECT_THAT(text_of("err"), HasSubstr("no point was measured in both"));
}

TEST_F(CompareCommand, UnequalSettingsAreExitTwoWithALineEach) {
    Json report = test::document_of(test::sample_report());
    report["env"]["client"]["kernel"] = "7.3";
    put("kernel.json", report.dump());
    EXPECT_EQ(run_compare("kernel.json", std::nullopt), Exit::Usage);
    EXPECT_THAT(text_of("err"), AllOf(HasSubstr("6.1.0"), HasSubstr("7.3")));
    EXPECT_EQ(text_of("out"), "");
}

}  // namespace
}  // namespace perf
