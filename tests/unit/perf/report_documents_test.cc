// SPDX-License-Identifier: Apache-2.0
// The schema of the report says what the code writes, and the page of JSON what the schema says.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/document_check.h"
#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Json;
using test::SchemaCheck;
using Names = std::set<std::string>;

// What other kinds have, which commands write in their own tests.
bool is_of_a_report(const std::string& member) {
    const std::string definition = member.substr(0, member.find('.'));
    const Names others = {"kv", "compare", "gids", "doctor", "isolate", "estimate", "file"};
    return !others.contains(definition);
}

TEST(ReportDocuments, SchemaAndReportHaveTheSameMembers) {
    SchemaCheck schema(test::published_schema());
    Report report = test::sample_report();
    report.results.push_back(test::wrong_result(1));
    report.results.front().share_of_limit = LimitShare{.percent = 99.5};
    report.results.front().bandwidth->parts = {Part{.messages = 1, .elapsed_ns = 1},
                                               Part{.direction = Direction::Reverse}};
    report.pairs.front().client_device->iwarp = report.pairs.front().client_device->grh = true;
    report.pairs.front().client_device->identity = {
        .part = "p", .board = "b", .firmware = "f", .pcie = "x16", .numa_node = "0"};
    report.pairs.front().client_device->near_processors = 8;
    report.client.platform = {
        .cpu = "c", .governor = "g", .rdma_core = "r", .command_line = "rdma-perf run h"};
    report.results.push_back(test::latency_result(1, 40'000));
    report.results.back().point.transport = Transport::Tcp;
    report.results.front().intervals = {
        {.end_ns = 1,
         .bandwidth =
             Bandwidth{.messages = 1,
                       .elapsed_ns = 1,
                       .slices = Slices{.count = 5, .least = 1, .p1 = 1, .mean = 2, .most = 3}}}};
    report.results.back().intervals = {{.end_ns = 1,
                                        .latency = report.results.back().latency,
                                        .load = Bandwidth{.messages = 1, .elapsed_ns = 1}}};
    report.results.back().point.load = Load{.size = 64};
    report.results.back().load = Bandwidth{.messages = 1, .elapsed_ns = 1};
    report.results.back().point.time_ms = report.plan.time_ms = kForever;
    report.pairs.push_back(report.pairs.front());
    schema.check(
        test::document_of(report, base::make_error(base::Code::Unavailable, "the peer is gone")));
    EXPECT_THAT(schema.problems(), testing::IsEmpty());
    for (const std::string& member : schema.unseen())
        EXPECT_FALSE(is_of_a_report(member)) << "no report has " << member;
}

TEST(ReportDocuments, ReportsWithoutResultsFitAsWell) {
    SchemaCheck schema(test::published_schema());
    Report report;
    schema.check(test::document_of(report));
    report.results = {test::latency_result(1, 10, 10)};
    report.results.front().point.verify = Verify::Off;
    schema.check(test::document_of(report));
    EXPECT_THAT(schema.problems(), testing::IsEmpty());
}

TEST(ReportDocuments, CheckSeesWhatIsWrong) {
    const auto problems = [](auto change) {
        SchemaCheck schema(test::published_schema());
        Json report = test::document_of(test::sample_report());
        change(report);
        schema.check(report);
        return schema.problems().size();
    };
    EXPECT_EQ(problems([](Json&) {}), 0U);
    EXPECT_EQ(problems([](Json& r) { r["more"] = 1; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r.erase("plan"); }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["schema"] = "rdma-perf/2"; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["kind"] = "dance"; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r.erase("kind"); }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["results"][1]["latency"]["p99_99_ns"] = "1"; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["results"][0]["point"]["verb"] = "dance"; }), 1U);
}

TEST(ReportDocuments, PageNamesEveryMember) {
    const std::string page = test::source_text("docs/rdma-perf/json.md");
    const Json schema = test::published_schema();
    Names names;
    for (const char* object :
         {"run", "result", "bandwidth", "latency", "interval", "summary", "error"}) {
        for (const auto& [name, value] : schema["$defs"][object]["properties"].items())
            names.insert(name);
    }
    for (const std::string& name : names)
        EXPECT_THAT(page, testing::HasSubstr(name));
}

}  // namespace
}  // namespace perf
