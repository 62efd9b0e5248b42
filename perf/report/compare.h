// SPDX-License-Identifier: Apache-2.0
// Compare: two reports, point by point. Points belong together by what they are (verb, mode, size,
// and any member not known here); what would make the comparison unfair (path MTU, kernel, ...)
// must be equal or allowed by name. A report's file is input from outside: bounded, and every value
// that is used is checked. What is not used may be anything, as newer programs have more.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json.h"
#include "perf/measure/result.h"

namespace perf {

// ---- a report read back (report_file.cc) --------------------------------------------------------
// Something that must be equal on both sides of a fair comparison.
struct Setting {
    std::string_view allow;   // the word of --allow; several settings may share it
    std::string_view member;  // of a point; empty: of a side
    std::string_view text;    // for people
    // What reports of older programs, which do not have the member, measured with, as JSON; of
    // another member that stood for both, its name behind an @. Empty: they all have it. kUnknown:
    // nobody knows, and it is no difference.
    std::string_view before = {};
};

inline constexpr std::string_view kUnknown = "unknown";

inline constexpr Setting kPointSettings[] = {
    {"mtu", "mtu_bytes", "path MTU"},
    {"inline", "inline_bytes", "inline bytes"},
    {"depth", "depth", "depth"},
    {"batch", "batch", "batch"},
    {"poll", "poll", "client's poll mode"},
    {"poll", "server_poll", "server's poll mode"},
    {"transport", "transport", "transport"},
    {"ordering", "ordering", "client's PCIe ordering", R"("strict")"},
    {"ordering", "server_ordering", "server's PCIe ordering", R"("strict")"},
    {"tclass", "traffic_class", "traffic class", "0"},
    {"sl", "service_level", "service level", "0"},
    {"flow-label", "flow_label", "flow label", "0"},
    {"pkey", "pkey_index", "partition key's index", "0"},
    {"reads", "reads", "reads in flight", "0"},
    {"signal", "signal", "messages for each completion", "@batch"},
    {"ring", "slots", "messages in a ring"},
    {"with", "with", "load beside", R"("none")"},
    {"posting", "calls", "client's calls to post", kUnknown},
    {"posting", "polling", "client's way to poll", kUnknown},
    {"posting", "domain", "client's thread domain", kUnknown},
    {"posting", "server_calls", "server's calls to post", kUnknown},
    {"posting", "server_polling", "server's way to poll", kUnknown},
    {"posting", "server_domain", "server's thread domain", kUnknown},
};
inline constexpr Setting kSideSettings[] = {
    {"kernel", "", "kernel"},
    {"gid", "", "GID type"},
    {"adapter", "", "adapter"},
    {"firmware", "", "firmware"},
    {"pcie", "", "PCIe link"},
    {"cpu", "", "processor"},
    {"governor", "", "frequency governor"},
    {"rdma-core", "", "rdma-core"},
    {"memory", "", "memory"},
};

// The words of --allow, each once.
std::vector<std::string_view> allow_words();

// The repetitions of one point.
struct Series {
    std::string label;     // "write bw 4096 B", with whatever else tells it from others
    std::string identity;  // what must be equal for two series to be compared at all
    std::vector<std::string> settings;  // in the order of kPointSettings, as JSON
    Json point;
    size_t repetitions = 0;
    size_t wrong = 0;                                         // repetitions whose data was wrong
    std::map<std::string_view, std::vector<double>> samples;  // by name of each metric
};

struct ReportFile {
    std::string name;  // what the person called it
    std::string started;
    std::vector<std::string> settings;  // in the order of kSideSettings: client's, server's
    std::vector<Series> series;         // in the order of the file
};

// Code::Usage that names the file and what is wrong with it.
Result<ReportFile> parse_report(std::string_view text, const std::string& name);
Result<ReportFile> read_report(const std::string& path);

// ---- two of them --------------------------------------------------------------------------------
// What a script demands of every pair.
enum class Expect { Equal, NotSlower, Faster };
template <>
inline constexpr WordList kWords<Expect>{"--expect", {"equal", "not-slower", "faster"}};

struct Difference {
    const Setting* setting = nullptr;
    std::string_view whose;  // "client's " or "server's "; empty: of points
    std::string a;
    std::string b;
    size_t points = 0;  // that have it; 0: the whole report
    bool allowed = false;
};

// One metric of one pair of points.
struct Compared {
    std::string label;
    Json point;  // of b
    const Metric* metric = nullptr;
    size_t n_a = 0;
    size_t n_b = 0;
    double median_a = 0;
    double median_b = 0;
    RatioEstimate ratio;  // b / a: the repetitions of two reports are no pairs
    Verdict verdict = Verdict::NotEnoughData;
};

struct Comparison {
    std::vector<Difference> differences;
    std::vector<Compared> rows;
    std::vector<std::string> only_a;
    std::vector<std::string> only_b;
    std::vector<std::string> wrong;  // points with wrong data, and in which file

    [[nodiscard]] bool fair() const;
    [[nodiscard]] bool meets(std::optional<Expect> expect) const;
};

Comparison compare_reports(const ReportFile& a,
                           const ReportFile& b,
                           const std::vector<std::string>& allow);

std::string refusal_text(const Comparison& comparison, const ReportFile& a, const ReportFile& b);

std::string table_of(const Comparison& comparison, const ReportFile& a, const ReportFile& b);

Json json_of(const Comparison& comparison, const ReportFile& a, const ReportFile& b);

}  // namespace perf
