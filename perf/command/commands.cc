// SPDX-License-Identifier: Apache-2.0
#include "perf/command/commands.h"

#include <string>
#include <thread>

#include <sys/socket.h>

#include "netns/base/clock.h"
#include "perf/command/session.h"
#include "perf/measure/conduct.h"
#include "perf/measure/hosts.h"
#include "perf/measure/schedule.h"
#include "perf/report/baseline.h"
#include "perf/report/document.h"
#include "perf/report/output.h"
#include "perf/report/outputs.h"
#include "perf/report/summary.h"

namespace perf {

using base::Result;
using base::UniqueFd;

namespace {
// What the plan gives, and where it goes.
struct Measured {
    Report report;
    Outputs outputs;
};

// Runs the plan over control connections; what was measured stays in the report even on an error.
Result<> measure(std::vector<Client> clients,
                 const MeasureOptions& options,
                 const Surroundings& around,
                 Measured& measured) {
    Report& report = measured.report;
    std::FILE* table = data_on_stdout(options) ? around.err : around.out;
    introduce(clients, report);
    for (const Client& client : clients) {
        if (options.explain_gid && client.has_device())
            print(around.err, client.device().explanation);
    }
    TRY(measured.outputs.begin(report));
    print(table, table_head(report));
    for (Client& client : clients)
        TRY(client.watch_idle());
    for (const Turn& turn : schedule(options.plan)) {
        PointResult result = TRY(conduct(clients, turn.point));
        result.rep = turn.rep;
        report.results.push_back(std::move(result));
        TRY(measured.outputs.add(report.results.back()));
        print(table, table_row(report.results.back()));
    }
    const auto rows = summarize(report.results, options.plan.seed);
    if (options.plan.reps > 1)
        print(table, summary_table(rows, options.plan.reps));
    print(table, tcp_table(rows));
    return {};
}

Report new_report(const MeasureOptions& options) {
    Report report;
    report.started = base::rfc3339_now();
    report.plan = options.plan;
    report.client = own_hello();
    return report;
}

// Prints what is left to print; the exit code of the whole.
Exit conclude(Measured measured,
              Result<> done,
              const std::vector<Expectation>& expectations,
              const Surroundings& a) {
    Report& report = measured.report;
    Exit exit = report.corrupt() ? Exit::Corruption : Exit::Ok;
    if (!done) {
        exit = complain(done.error(), exit, a);
        report.error = std::move(done).error();
    } else if (const auto lines = unmet(expectations, report.results); !lines.empty()) {
        for (const std::string& line : lines)
            print(a.err, "rdma-perf: " + line + "\n");
        if (exit == Exit::Ok)
            exit = Exit::Threshold;
    }
    const auto written = measured.outputs.conclude(report);
    return written ? exit : complain(written.error(), exit, a);
}

// Opens the outputs, measures over the connection that `connect` makes, and concludes.
template <class Connect>
Exit measure_over(const MeasureOptions& options, const Surroundings& around, Connect connect) {
    Measured measured{.report = new_report(options), .outputs = {}};
    auto done = [&]() -> Result<> {
        measured.outputs = TRY(Outputs::open(options, around.out));
        return connect(measured);
    }();
    return conclude(std::move(measured), std::move(done), options.expectations, around);
}
}  // namespace

Exit run(const RunOptions& options, const Surroundings& around) {
    return measure_over(options.measure, around, [&](Measured& measured) -> Result<> {
        auto clients = TRY(connect_clients(options.hosts,
                                           options.port,
                                           options.measure.side,
                                           around,
                                           needs_device(options.measure.plan)));
        return measure(std::move(clients), options.measure, around, measured);
    });
}

Exit loop(const LoopOptions& options, const Surroundings& around) {
    return measure_over(options.measure, around, [&](Measured& measured) -> Result<> {
        int pair[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
            return base::sys_error("socketpair");
        std::vector<Control> ours;
        ours.emplace_back(UniqueFd(pair[0]), around.stop);
        // The session tells its errors to the client, which reports them.
        std::jthread server([&around, &options, fd = pair[1]] {
            Session session(around.verbs, Control(UniqueFd(fd), around.stop), options.measure.side);
            (void)session.run();
        });
        auto clients = TRY(start_clients(
            std::move(ours), options.measure.side, around, needs_device(options.measure.plan)));
        return measure(std::move(clients), options.measure, around, measured);
    });
}

Exit run_command(const Command& command, const Surroundings& around) {
    if (const auto* help = std::get_if<HelpText>(&command)) {
        print(around.out, help->text);
        return Exit::Ok;
    }
    if (const auto* options = std::get_if<ServeOptions>(&command))
        return serve(*options, around);
    if (const auto* options = std::get_if<RunOptions>(&command))
        return run(*options, around);
    if (const auto* options = std::get_if<CompareOptions>(&command))
        return compare(*options, around);
    if (const auto* options = std::get_if<ThesisOptions>(&command))
        return thesis(*options, around);
    if (const auto* options = std::get_if<KvOptions>(&command))
        return kv_exercise(*options, around);
    if (const auto* options = std::get_if<GidsOptions>(&command))
        return gids(*options, around);
    if (const auto* options = std::get_if<DoctorOptions>(&command))
        return doctor(*options, around);
    if (const auto* options = std::get_if<IsolateOptions>(&command))
        return isolate(*options, around);
    return loop(std::get<LoopOptions>(command), around);
}

}  // namespace perf
