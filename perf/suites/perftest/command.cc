// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/command.h"

#include "netns/base/clock.h"
#include "perf/measure/hosts.h"
#include "perf/report/conclude.h"
#include "perf/report/output.h"
#include "perf/report/report.h"
#include "perf/suites/perftest/report.h"

namespace perf {

using base::Result;

namespace {
Result<> fight(const PerftestOptions& options,
               const Surroundings& around,
               std::FILE* table,
               perftest::Findings& findings) {
    auto clients = TRY(connect_clients({&options.host, 1}, options.port, options.side, around));
    Client& client = clients.front();
    findings.server = client.server();
    findings.client_device = client.device().info;
    findings.server_device = client.server_device();
    auto duel = TRY(perftest::Duel::enter(
        client, options.plan, options.side.perftest_folders, options.side.timeout));
    findings.client_perftest = duel.own();
    findings.server_perftest = duel.server();
    print(table, table_head(findings));
    for (const Point& point : points_of(options.plan)) {
        findings.cells.push_back(TRY(duel.run(point).context("comparing " + describe(point))));
        print(table, table_row(findings.cells.back()));
        if (findings.corrupt())
            return {};
    }
    return {};
}
}  // namespace

Exit compare_perftest(const PerftestOptions& options, const Surroundings& around) {
    perftest::Findings findings;
    findings.started = base::rfc3339_now();
    findings.plan = options.plan;
    auto done = fight(options, around, options.json == "-" ? around.err : around.out, findings);
    Exit exit = conclude(findings, std::move(done), options.json, around);
    if (exit == Exit::Ok && !findings.meets(options.expect))
        exit = Exit::Threshold;
    return exit;
}

}  // namespace perf
