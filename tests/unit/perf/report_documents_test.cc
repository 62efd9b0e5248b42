// SPDX-License-Identifier: Apache-2.0
// The schema of the report says what the code writes, and the README what the schema says.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/report_samples.h"

namespace perf {
namespace {

using base::Json;
using Names = std::set<std::string>;

std::string source_text(const std::string& path) {
    const std::ifstream file(SOURCE_DIR "/" + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Holds a value to the few words of JSON Schema that report.schema.json uses, and notes every
// member and every object of the schema that it met.
class SchemaCheck {
  public:
    explicit SchemaCheck(Json root) : root_(std::move(root)) {}

    void check(const Json& value) { check(root_, value, "report"); }

    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

    // Members that the schema lists and no checked value had.
    [[nodiscard]] Names unseen() const {
        Names out;
        for (const auto& [name, object] : root_["$defs"].items())
            list(object, name, out);
        list(root_, "", out);
        for (const std::string& name : seen_)
            out.erase(name);
        return out;
    }

  private:
    static void list(const Json& rule, const std::string& name, Names& out) {
        const Json properties = rule.value("properties", Json::object());
        for (const auto& [member, sub] : properties.items()) {
            out.insert(name + "." + member);
            list(sub, name + "." + member, out);
        }
    }

    static bool has_type(const Json& value, const std::string& type) {
        return (type == "null" && value.is_null()) || (type == "object" && value.is_object()) ||
               (type == "array" && value.is_array()) || (type == "string" && value.is_string()) ||
               (type == "boolean" && value.is_boolean()) ||
               (type == "integer" && value.is_number_integer()) ||
               (type == "number" && value.is_number());
    }

    static bool lists(const Json& list, const Json& value) {
        return std::find(list.begin(), list.end(), value) != list.end();
    }

    void complain(const std::string& where, const std::string& what, const Json& value) {
        problems_.push_back(where + ": " + what + ": " + value.dump());
    }

    void check(const Json& rule, const Json& value, const std::string& where) {
        if (rule.contains("$ref"))
            return follow(rule["$ref"], value, where);
        if (rule.contains("anyOf"))  // always a rule or null
            return value.is_null() ? void() : check(rule["anyOf"][0], value, where);
        if (rule.contains("type")) {
            const Json types = rule["type"].is_array() ? rule["type"] : Json::array({rule["type"]});
            if (std::none_of(
                    types.begin(), types.end(), [&](const Json& t) { return has_type(value, t); }))
                return complain(where, "has a wrong type", value);
        }
        if (rule.contains("const") && rule["const"] != value)
            complain(where, "is not the constant", value);
        if (rule.contains("enum") && !lists(rule["enum"], value))
            complain(where, "is not listed", value);
        if (value.is_object())
            check_members(rule, value, where);
        if (value.is_array() && rule.contains("items")) {
            for (const Json& element : value)
                check(rule["items"], element, where + "[]");
        }
    }

    void follow(const std::string& target, const Json& value, const std::string& where) {
        const std::string name = target.substr(std::string("#/$defs/").size());
        const std::string outer = std::exchange(object_, name);
        check(root_["$defs"][name], value, where);
        object_ = outer;
    }

    void check_members(const Json& rule, const Json& value, const std::string& where) {
        if (rule.contains("additionalProperties")) {  // a table with names of its own
            for (const auto& [name, member] : value.items())
                check(rule["additionalProperties"], member, where + "." + name);
            return;
        }
        const std::string outer = object_;
        for (const auto& [name, member] : value.items()) {
            if (!rule["properties"].contains(name)) {
                complain(where + "." + name, "is not in the schema", member);
                continue;
            }
            object_ = outer + "." + name;
            seen_.insert(object_);
            check(rule["properties"][name], member, where + "." + name);
        }
        object_ = outer;
        for (const Json& name : rule["required"]) {
            if (!value.contains(name.get<std::string>()))
                complain(where, "lacks " + name.dump(), value);
        }
    }

    Json root_;
    std::string object_;
    Names seen_;
    std::vector<std::string> problems_;
};

Json report_schema() {
    return base::parse_json(source_text("perf/schema/report.schema.json"), "schema").value();
}

TEST(ReportDocuments, SchemaAndReportHaveTheSameMembers) {
    SchemaCheck schema(report_schema());
    Report report = test::sample_report();
    report.results.push_back(test::wrong_result(1));
    report.results.front().share_of_limit = LimitShare{.percent = 99.5};
    report.results.front().bandwidth->parts = {Part{.messages = 1, .elapsed_ns = 1},
                                               Part{.direction = Direction::Reverse}};
    report.client_device->iwarp = true;
    report.results.push_back(test::latency_result(1, 40'000));
    report.results.back().point.transport = Transport::Tcp;
    report.more_pairs = {{*report.client_device, report.server, *report.server_device}};
    report.error = base::make_error(base::Code::Unavailable, "the peer is gone");
    schema.check(to_json(report));
    EXPECT_THAT(schema.problems(), testing::IsEmpty());
    EXPECT_THAT(schema.unseen(), testing::IsEmpty()) << "no report has them";
}

TEST(ReportDocuments, ReportsWithoutResultsFitAsWell) {
    SchemaCheck schema(report_schema());
    Report report;
    schema.check(to_json(report));
    report.results = {test::latency_result(1, 10, 10)};
    report.results.front().point.verify = Verify::Off;
    schema.check(to_json(report));
    EXPECT_THAT(schema.problems(), testing::IsEmpty());
}

TEST(ReportDocuments, CheckSeesWhatIsWrong) {
    const auto problems = [](auto change) {
        SchemaCheck schema(report_schema());
        Json report = to_json(test::sample_report());
        change(report);
        schema.check(report);
        return schema.problems().size();
    };
    EXPECT_EQ(problems([](Json&) {}), 0U);
    EXPECT_EQ(problems([](Json& r) { r["more"] = 1; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r.erase("plan"); }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["schema"] = "rdma-perf/2"; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["results"][1]["latency"]["p99_99_ns"] = "1"; }), 1U);
    EXPECT_EQ(problems([](Json& r) { r["results"][0]["point"]["verb"] = "dance"; }), 1U);
}

TEST(ReportDocuments, ReadmeNamesEveryMember) {
    const std::string readme = source_text("perf/README.md");
    const Json schema = report_schema();
    Names names;
    for (const auto& [name, value] : schema["properties"].items())
        names.insert(name);
    for (const char* object : {"result", "bandwidth", "latency", "summary", "error"}) {
        for (const auto& [name, value] : schema["$defs"][object]["properties"].items())
            names.insert(name);
    }
    for (const std::string& name : names)
        EXPECT_THAT(readme, testing::HasSubstr(name));
}

}  // namespace
}  // namespace perf
