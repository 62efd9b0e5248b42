// SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzz targets are what this version reads: a fuzzer that begins with messages of
// an older one finds its way to the new members by chance only.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/measure/result.h"
#include "perf/protocol/message.h"
#include "perf/report/compare.h"
#include "perf/report/report.h"

namespace perf {
namespace {

using base::Json;

constexpr char kSeeds[] = SOURCE_DIR "/tests/fuzz/seeds/";

std::string seed_text(const std::string& name) {
    const std::ifstream file(kSeeds + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Json seed_message(const std::string& type) {
    auto json = base::parse_json(seed_text("control_frame/" + type), type);
    EXPECT_TRUE(json) << json.error().message();
    return json ? *json : Json::object();
}

template <class T>
void expect_read(base::Result<T> (*parse)(const Json&), const Json& json) {
    const auto value = parse(json);
    EXPECT_TRUE(value) << value.error().message() << "\nin " << json;
}

TEST(FuzzSeeds, EachIsNamedAfterItsMessage) {
    size_t messages = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(kSeeds + std::string("control_frame"))) {
        const std::string name = entry.path().filename();
        if (name == "frames" || name == "http")
            continue;  // bytes of a connection
        EXPECT_EQ(seed_message(name).value("type", ""), name);
        ++messages;
    }
    EXPECT_EQ(messages, 21U) << "a new message needs a seed, and this number";
}

TEST(FuzzSeeds, PlansAreRead) {
    for (const std::string name : {"all", "short"})
        expect_read<Plan>(parse_plan,
                          base::parse_json(seed_text("plan_file/" + name), name).value());
}

TEST(FuzzSeeds, MessagesAreRead) {
    expect_read(parse<Hello>, seed_message("hello"));
    EXPECT_EQ(parse<Hello>(seed_message("hello"))->protocol, kProtocol);
    EXPECT_THAT(seed_text("control_frame/frames"),
                testing::HasSubstr("\"protocol\":" + std::to_string(kProtocol) + ","));
    expect_read(parse<DeviceInfo>, seed_message("device"));
    expect_read(parse<Point>, seed_message("open")["point"]);
    expect_read(parse_endpoints, seed_message("open"));
    EXPECT_TRUE(parse_counts(seed_message("stop"), "messages", 2));
    EXPECT_TRUE(parse_posted(seed_message("stopped"), 2));
    EXPECT_TRUE(parse_round(seed_message("fetch"), Point{.qps = 2}));
    expect_read(parse<Opened>, seed_message("opened"));
    expect_read(parse<Checked>, seed_message("verified"));
    expect_read(parse_usage, seed_message("stopped"));
    EXPECT_EQ(parse_error_message(seed_message("error")).code, base::Code::Busy);
}

TEST(FuzzSeeds, ReportsAreRead) {
    for (const char* name : {"once", "repeated", "failed", "two"}) {
        const std::string text = seed_text(std::string("report_file/") + name);
        const auto report = parse_report(text.substr(0, text.find('\0')), name);
        EXPECT_TRUE(report) << report.error().message();
    }
}

}  // namespace
}  // namespace perf
