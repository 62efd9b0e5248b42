// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perf/command/commands.h"
#include "perf/report/document.h"

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

Result<Exit> compare_files(const CompareOptions& options,
                           const Surroundings& around,
                           Json& members) {
    const ReportFile a = TRY(read_report(options.a));
    const ReportFile b = TRY(read_report(options.b));
    const Comparison comparison = compare_reports(a, b, options.allow);
    if (!comparison.fair()) {
        (void)std::fputs(refusal_text(comparison, a, b).c_str(), around.err);
        return make_error(Code::Usage, "not compared: settings differ");
    }
    if (comparison.rows.empty())
        return make_error(Code::Usage,
                          "no point was measured in both " + printable(options.a) + " and " +
                              printable(options.b))
            .advise("run both with the same --verb, --mode and --size");
    print(options.json == "-" ? around.err : around.out, table_of(comparison, a, b));
    members = json_of(comparison, a, b);
    return comparison.meets(options.expect) ? Exit::Ok : Exit::Threshold;
}
}  // namespace

void add_compare_options(CLI::App& app, CompareWords& words) {
    app.add_option("A", words.options.a, "report from before")->required();
    app.add_option("B", words.options.b, "report from now; ratios are B/A")->required();
    app.add_option("--allow", words.allow, "settings that may differ: list of " + listed());
    app.add_option("--expect",
                   words.expect,
                   "exit with 4 unless all results are: equal, not-slower or faster");
    app.add_option("--json", words.options.json, "file for the comparison as JSON; - for stdout");
}

Result<CompareOptions> parse_compare(const CompareWords& words) {
    CompareOptions options = words.options;
    options.allow = TRY(parse_allow(words.allow));
    if (!words.expect.empty())
        options.expect = TRY(parse_word<Expect>(words.expect));
    return options;
}

Exit compare(const CompareOptions& options, const Surroundings& around) {
    Document document{.kind = "compare"};
    const auto exit = compare_files(options, around, document.members);
    return conclude(document,
                    exit ? Result<>() : Result<>(exit.error()),
                    exit ? *exit : Exit::Ok,
                    options.json,
                    around);
}

}  // namespace perf
