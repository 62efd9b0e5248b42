// SPDX-License-Identifier: Apache-2.0
// ReportFile: a JSON report read back, for comparison. A file is input from outside: bounded, and
// every value that is used is checked. What is not used may be anything, so that reports of newer
// programs can be read as long as their schema has the same number.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/base/names.h"

namespace perf {

inline constexpr size_t kReportLimit = 64U << 20U;  // bytes

// Something that must be equal on both sides of a fair comparison.
struct Setting {
    std::string_view allow;   // the word of --allow; several settings may share it
    std::string_view member;  // of a point; empty: of the environment
    std::string_view text;    // for people
    // What reports of older programs, which do not have the member, measured with, as JSON; of
    // another member that stood for both, its name behind an @. Empty: they all have it.
    std::string_view before = {};
};

std::span<const Setting> point_settings();
std::span<const Setting> side_settings();

// The words of --allow, each once.
std::vector<std::string_view> allow_words();

// The repetitions of one point.
struct Series {
    std::string label;     // "write bw 4096 B", with whatever else tells it from others
    std::string identity;  // what must be equal for two series to be compared at all
    std::vector<std::string> settings;  // in the order of point_settings(), as JSON
    Json point;
    size_t repetitions = 0;
    size_t wrong = 0;                                         // repetitions whose data was wrong
    std::map<std::string_view, std::vector<double>> samples;  // by name of the metric
};

struct ReportFile {
    std::string name;  // what the person called it
    std::string started;
    uint64_t seed = 0;
    std::vector<std::string> settings;  // in the order of side_settings()
    std::vector<Series> series;         // in the order of the file
};

// Code::Usage that names the file and what is wrong with it.
Result<ReportFile> parse_report(std::string_view text, const std::string& name);
Result<ReportFile> read_report(const std::string& path);

}  // namespace perf
