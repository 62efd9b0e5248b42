// SPDX-License-Identifier: Apache-2.0
// Reports that `rdma-perf compare` reads: one, which is then compared with itself, or two with a
// NUL between them.
#include <string_view>

#include "perf/report/compare.h"
#include "tests/fuzz/expect.h"

namespace {
void print(const perf::Comparison& comparison,
           const perf::ReportFile& a,
           const perf::ReportFile& b) {
    (void)refusal_text(comparison, a, b);
    (void)table_of(comparison, a, b);
    const auto again = base::parse_json(base::dump_json(json_of(comparison, a, b)), "comparison");
    fuzz::expect(again.has_value(), "a comparison can be read");
}

void compare_with_itself(const perf::ReportFile& file) {
    const perf::Comparison same = compare_reports(file, file, {});
    print(same, file, file);
    fuzz::expect(same.fair(), "a report has the settings of itself");
    fuzz::expect(same.only_a.empty() && same.only_b.empty(), "a report has the points of itself");
    for (const perf::Compared& row : same.rows) {
        fuzz::expect(row.verdict != perf::Verdict::Faster && row.verdict != perf::Verdict::Slower,
                     "a report is as fast as itself");
    }
}
}  // namespace

FUZZ_TARGET(report_file) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const size_t end = text.find('\0');
    const auto a = perf::parse_report(text.substr(0, end), "a");
    if (!a) {
        fuzz::expect(a.error().code == base::Code::Usage,
                     "a file that is no report is a usage error");
        return;
    }
    compare_with_itself(*a);
    if (end == std::string_view::npos)
        return;
    if (const auto b = perf::parse_report(text.substr(end + 1), "b"))
        print(compare_reports(*a, *b, {"mtu", "kernel"}), *a, *b);
}
