// SPDX-License-Identifier: Apache-2.0
// Reports as input: from broken to hostile. Whatever is in the file, there is an answer.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "perf/report/compare.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Json;
using testing::HasSubstr;

Json good_report() {
    return test::document_of(test::sample_report());
}

ReportFile file_from(const Json& report) {
    return parse_report(report.dump(), "good.json").value();
}

std::string refusal_of(const std::string& text) {
    const auto file = parse_report(text, "x.json");
    EXPECT_FALSE(file) << text.substr(0, 200);
    if (file)
        return "";
    EXPECT_EQ(file.error().code, base::Code::Usage);
    EXPECT_THAT(file.error().message(), HasSubstr("x.json"));
    return file.error().message();
}

template <class Change>
std::string refusal_after(Change change) {
    Json report = good_report();
    change(report);
    return refusal_of(report.dump());
}

TEST(ReportFiles, WhatTheCodeWritesIsRead) {
    const auto file = parse_report(good_report().dump(2), "x.json");
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_EQ(file->series.size(), 2U);
    EXPECT_EQ(file->series[0].label, "write bw 4 KiB");
    EXPECT_EQ(file->series[0].repetitions, 6U);
    EXPECT_EQ(file->series[0].samples.at("bandwidth_bytes_per_s").size(), 6U);
    EXPECT_NEAR(file->series[1].samples.at("p99_ns").front(), 60'060, 5);
    // Of both sides: kernel, type of GID, and memory; what a report of a fake device leaves out is empty.
    std::vector<std::string> settings = {"6.1.0", "6.1.0", "RoCE v2", "RoCE v2"};
    settings.resize(file->settings.size() - 2);
    settings.insert(settings.end(), 2, "host");
    EXPECT_EQ(file->settings, settings);
}

TEST(ReportFiles, MembersOfNewerProgramsAreNoTrouble) {
    Json report = good_report();
    report["news"] = {{"deep", {1, 2, 3}}};
    for (Json& result : report["results"])
        result["point"]["qps"] = 4;
    const auto file = parse_report(report.dump(), "x.json");
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->series[0].label, "write bw 4 KiB qps 4") << "it is a point of its own";
}

TEST(ReportFiles, PointsThatDifferInASettingAreToldApart) {
    Json report = good_report();
    report["results"][0]["point"]["transport"] = "ud";
    const auto file = parse_report(report.dump(), "x.json");
    ASSERT_TRUE(file);
    ASSERT_EQ(file->series.size(), 3U);
    EXPECT_EQ(file->series[0].label, "write bw 4 KiB transport \"ud\"");
}

TEST(ReportFiles, BrokenText) {
    const std::string text = good_report().dump();
    (void)refusal_of("");
    (void)refusal_of("rdma-perf");
    (void)refusal_of("\xff\xfe");
    (void)refusal_of(std::string(100'000, '['));
    (void)refusal_of(R"({"schema":"rdma-perf/1","schema":"rdma-perf/1"})");
    for (size_t length = 0; length < text.size(); length += 97)
        (void)refusal_of(text.substr(0, length));
}

TEST(ReportFiles, OtherDocuments) {
    for (const char* text : {"null", "7", "[]", "{}", R"("x")", R"({"schema":1})"})
        EXPECT_THAT(refusal_of(text), HasSubstr("schema")) << text;
    EXPECT_THAT(refusal_of(R"({"schema":"rdma-perf/2"})"), HasSubstr("known: rdma-perf/1"));
    EXPECT_THAT(refusal_of(R"({"schema":"rdma-perf/1","kind":"kv"})"), HasSubstr("kind 'kv'"));
}

TEST(ReportFiles, MissingMembersAreNamed) {
    for (const char* name : {"env", "results"})
        EXPECT_THAT(refusal_after([&](Json& r) { r.erase(name); }), HasSubstr(name));
    for (const char* name : {"verb", "mode", "size_bytes"})
        EXPECT_THAT(refusal_after([&](Json& r) { r["results"][1]["point"].erase(name); }),
                    testing::AllOf(HasSubstr(name), HasSubstr("result 1")));
    EXPECT_THAT(refusal_after([](Json& r) { r["env"]["server"].erase("kernel"); }),
                HasSubstr("env.server: 'kernel'"));
    EXPECT_THAT(refusal_after([](Json& r) { r["results"][0]["bandwidth"] = Json::object(); }),
                HasSubstr("bandwidth_bytes_per_s"));
}

// The value itself and all that is in it; of lists the first two elements, which the rest repeats.
void list_places(const Json& value, const Json::json_pointer& at, std::vector<std::string>& out) {
    out.push_back(at.to_string());
    if (!value.is_structured())
        return;
    for (const auto& [key, member] : value.items()) {
        if (!value.is_array())
            list_places(member, at / key, out);
        else if (std::stoul(key) < 2)
            list_places(member, at / std::stoul(key), out);
    }
}

// Every member replaced by every kind of value: a report or a refusal, and no crash.
TEST(ReportFiles, AnythingAnywhereIsSurvived) {
    Report small = test::sample_report();
    small.results.resize(2);
    Json root = test::document_of(small);
    for (const char* unused : {"summary", "tool"})
        root.erase(unused);
    const auto good = file_from(root);
    std::vector<std::string> places;
    list_places(root, Json::json_pointer(), places);
    EXPECT_GT(places.size(), 100U);
    for (const Json& by : {Json(),
                           Json(true),
                           Json(-1),
                           Json(UINT64_MAX),
                           Json(1e308),
                           Json("\x1b[2J"),
                           Json::array(),
                           Json::object()}) {
        for (const std::string& place : places) {
            Json changed = root;
            changed[Json::json_pointer(place)] = by;
            const auto file = parse_report(changed.dump(), "x.json");
            if (!file)
                continue;
            const Comparison comparison = compare_reports(good, *file, {"mtu", "depth"});
            (void)table_of(comparison, good, *file);
            (void)json_of(comparison, good, *file).dump();
            (void)refusal_text(comparison, good, *file);
        }
    }
}

TEST(ReportFiles, NumbersThatAreNone) {
    const auto with = [](const std::string& number) {
        std::string text = good_report().dump();
        const std::string name = "\"p50_ns\":";
        const size_t at = text.find(name) + name.size();
        return text.replace(at, text.find(',', at) - at, number);
    };
    (void)refusal_of(with("1e999"));
    (void)refusal_of(with("-5"));
    (void)refusal_of(with("NaN"));
    (void)refusal_of(with("\"5\""));
    (void)refusal_of(with("[5]"));
    EXPECT_TRUE(parse_report(with("99999999999999999999999"), "x.json")) << "huge, but a number";
    (void)refusal_after([](Json& r) { r["results"][0]["point"]["size_bytes"] = 1e300; });
}

TEST(ReportFiles, TooMuchIsRefused) {
    Json report = good_report();
    const Json result = report["results"][0];
    report["results"] = Json::array();
    for (uint32_t i = 0; i <= kMaxReps; ++i)
        report["results"].push_back(result);
    EXPECT_THAT(refusal_of(report.dump()), HasSubstr("more than 1000 repetitions"));
    report["results"] = std::vector<int>(kMaxRuns + 1);
    EXPECT_THAT(refusal_of(report.dump()), HasSubstr("more than 32768 results"));
}

TEST(ReportFiles, FilesThatAreNone) {
    const test::TempDir dir;
    const auto refused = [](const std::string& path) {
        const auto file = read_report(path);
        return !file && file.error().code == base::Code::Usage;
    };
    EXPECT_TRUE(refused(dir / "missing"));
    EXPECT_TRUE(refused(dir / "."));
    ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
    EXPECT_TRUE(refused(dir / "pipe")) << "and does not wait for a writer";
    EXPECT_TRUE(refused("/dev/zero"));
    std::ofstream(dir / "huge") << "x";
    std::filesystem::resize_file(dir / "huge", kReportLimit + 1);
    EXPECT_TRUE(refused(dir / "huge"));
    std::ofstream(dir / "good") << good_report().dump();
    EXPECT_FALSE(refused(dir / "good"));
}

}  // namespace
}  // namespace perf
