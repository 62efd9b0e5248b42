// SPDX-License-Identifier: Apache-2.0
#include "perf/command/commands.h"
#include "perf/report/compare.h"
#include "perf/report/document.h"
#include "perf/report/output.h"

namespace perf {

namespace {
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
