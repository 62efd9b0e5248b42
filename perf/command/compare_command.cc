// SPDX-License-Identifier: Apache-2.0
#include "perf/command/commands.h"
#include "perf/report/compare.h"
#include "perf/report/outputs.h"

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::Result;

namespace {
Result<Exit> compare_files(const CompareOptions& options, const Surroundings& around) {
    const ReportFile a = TRY(read_report(options.a));
    const ReportFile b = TRY(read_report(options.b));
    const Comparison comparison = compare_reports(a, b, options.allow);
    if (!comparison.fair()) {
        (void)std::fputs(refusal_text(comparison, a, b).c_str(), around.err);
        return Exit::Usage;
    }
    if (comparison.rows.empty())
        return make_error(Code::Usage,
                          "no point was measured in both " + base::printable(options.a) + " and " +
                              base::printable(options.b))
            .advise("run both with the same --verb, --mode and --size");
    const Sink json = TRY(Sink::open(options.json, around.out));
    const Sink table = TRY(Sink::open("-", options.json == "-" ? around.err : around.out));
    TRY(table.write(table_of(comparison, a, b)));
    if (json.wanted())
        TRY(json.write(
            json_of(comparison, a, b).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
    return comparison.meets(options.expect) ? Exit::Ok : Exit::Threshold;
}
}  // namespace

Exit compare(const CompareOptions& options, const Surroundings& around) {
    const auto exit = compare_files(options, around);
    if (exit)
        return *exit;
    (void)std::fputs(("rdma-perf: " + exit.error().message() + "\n").c_str(), around.err);
    return exit_of(exit.error());
}

}  // namespace perf
