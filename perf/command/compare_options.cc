// SPDX-License-Identifier: Apache-2.0
#include "perf/command/compare_options.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perf/protocol/plan.h"
#include "perf/report/report_file.h"

namespace perf {

namespace {
std::string listed() {
    return fmt::format("{}", fmt::join(allow_words(), ","));
}

Result<std::vector<std::string>> parse_allow(const std::string& text) {
    std::vector<std::string> out;
    if (text.empty())
        return out;
    for (const std::string_view word : split(text, ',')) {
        if (std::ranges::count(allow_words(), word) == 0)
            return make_error(
                Code::Usage,
                fmt::format("--allow '{}' is not known (allowed: {})", printable(word), listed()));
        out.emplace_back(word);
    }
    return out;
}
}  // namespace

void add_compare_options(CLI::App& app, CompareWords& words) {
    app.add_option("A", words.a, "report from before")->required();
    app.add_option("B", words.b, "report from now; ratios are B/A")->required();
    app.add_option("--allow", words.allow, "settings that may differ: list of " + listed());
    app.add_option("--expect",
                   words.expect,
                   "exit with 4 unless all results are: equal, not-slower or faster");
    app.add_option("--json", words.json, "file for the comparison as JSON; - for stdout");
}

Result<CompareOptions> parse_compare(const CompareWords& words) {
    CompareOptions options;
    options.a = words.a;
    options.b = words.b;
    options.allow = TRY(parse_allow(words.allow));
    options.expect = TRY(parse_expect(words.expect));
    options.json = words.json;
    return options;
}

}  // namespace perf
