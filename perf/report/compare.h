// SPDX-License-Identifier: Apache-2.0
// Compare: two reports, point by point. Points belong together by what they are (verb, mode, size,
// and any member not known here); what would make the comparison unfair (path MTU, kernel, ...)
// must be equal or allowed by name. Pure: files in, a value out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/measure/metrics.h"
#include "perf/report/report_file.h"

namespace perf {

// What a script demands of every pair.
enum class Expect { Equal, NotSlower, Faster };
template <>
inline constexpr WordList kWords<Expect>{"--expect", {"equal", "not-slower", "faster"}};

// A setting that is not equal.
struct Difference {
    const Setting* setting = nullptr;
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
    RatioEstimate ratio;  // b / a
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

// One line for each difference that is not allowed.
std::string refusal_text(const Comparison& comparison, const ReportFile& a, const ReportFile& b);

std::string table_of(const Comparison& comparison, const ReportFile& a, const ReportFile& b);

// Members of a document of kind "compare".
Json json_of(const Comparison& comparison, const ReportFile& a, const ReportFile& b);

}  // namespace perf
