// SPDX-License-Identifier: Apache-2.0
#include "perf/command/commands.h"

#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include "perf/base/names.h"
#include "perf/command/session.h"
#include "perf/measure/conduct.h"
#include "perf/measure/hosts.h"
#include "perf/measure/schedule.h"
#include "perf/report/document.h"
#include "perf/report/outputs.h"
#include "perf/report/summary.h"

namespace perf {

namespace {
// What the plan gives, and where it goes.
struct Measured {
    Report report;
    Outputs outputs;
};

std::FILE* table_file(const MeasureOptions& options, const Surroundings& around) {
    return data_on_stdout(options) ? around.err : around.out;
}

enum class Use : uint8_t { Points, Load };

// Connects so many clients, to the first servers.
using ConnectClients = std::function<Result<std::vector<Client>>(size_t clients, Use use)>;

// Runs the plan over control connections; what was measured stays in the report even on an error.
Result<> measure_points(const ConnectClients& connect,
                        size_t hosts,
                        const MeasureOptions& options,
                        const Surroundings& around,
                        Measured& measured) {
    Report& report = measured.report;
    std::FILE* table = table_file(options, around);
    bool begun = false;
    for (const Batch& batch : batches(options.plan, hosts)) {
        auto clients = TRY(connect(batch.clients, Use::Points));
        if (!std::exchange(begun, true)) {
            introduce(clients, report);
            for (const Client& client : clients) {
                if (options.explain_gid && client.has_device())
                    print(around.err, client.device().explanation);
            }
            TRY(measured.outputs.begin(report));
            print(table, table_head(report));
        }
        for (Client& client : clients)
            TRY(client.watch_idle());
        for (const Turn& turn : batch.turns) {
            const auto show = [&](const Interim& interim) {
                print(table, interim_row(turn.point, interim));
                return measured.outputs.add(turn, interim);
            };
            // For this point only: a server does not wait long for a client that is silent.
            std::vector<Client> loads;
            if (turn.point.load)
                loads = TRY(connect(batch.clients, Use::Load));
            auto result = conduct(clients,
                                  turn.point,
                                  {.interval_ms = options.plan.interval_ms, .show = show},
                                  loads);
            // Who is interrupted with the server need not be told of the server's end.
            if (!result && around.stop.interrupted())
                return stopped_error();
            report.results.push_back(TRY(std::move(result)));
            report.results.back().rep = turn.rep;
            TRY(measured.outputs.add(report.results.back()));
            print(table, table_row(report.results.back()));
            if (around.stop.interrupted())
                return stopped_error();
        }
    }
    return {};
}

Result<> measure(const ConnectClients& connect,
                 size_t hosts,
                 const MeasureOptions& options,
                 const Surroundings& around,
                 Measured& measured) {
    const Result<> done = measure_points(connect, hosts, options, around, measured);
    std::FILE* table = table_file(options, around);
    const auto rows = summarize(measured.report.results, options.plan.seed);
    if (options.plan.reps > 1 && !rows.empty())
        print(table, summary_table(rows, options.plan.reps));
    print(table, tcp_table(rows));
    return done;
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

// Opens the outputs, measures, and concludes.
Exit measure_over(const ConnectClients& connect,
                  size_t hosts,
                  const MeasureOptions& options,
                  const Surroundings& around) {
    Measured measured{.report = new_report(options), .outputs = {}};
    auto done = [&]() -> Result<> {
        measured.outputs = TRY(Outputs::open(options, around.out));
        return measure(connect, hosts, options, around, measured);
    }();
    return conclude(std::move(measured), std::move(done), options.expectations, around);
}
}  // namespace

Exit run(const RunOptions& options, const Surroundings& around) {
    const MeasureOptions& asked = options.measure;
    const auto connect = [&](size_t clients, Use) {
        return connect_clients(std::span(options.hosts).first(clients),
                               options.port,
                               asked.side,
                               around,
                               needs_device(asked.plan));
    };
    return measure_over(connect, options.hosts.size(), asked, around);
}

Exit loop(const LoopOptions& options, const Surroundings& around) {
    const MeasureOptions& asked = options.measure;
    std::jthread points_server;  // each ends with its client
    std::jthread load_server;
    const auto connect = [&](size_t, Use use) -> Result<std::vector<Client>> {
        int pair[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
            return sys_error("socketpair");
        std::vector<Control> ours;
        ours.emplace_back(UniqueFd(pair[0]), around.stop);
        // The session tells its errors to the client, which reports them.
        (use == Use::Points ? points_server : load_server) =
            std::jthread([&around, &asked, fd = pair[1]] {
                Served served;
                (void)serve_session(
                    around.verbs, Control(UniqueFd(fd), around.stop), asked.side, served);
            });
        return start_clients(std::move(ours), asked.side, around, needs_device(asked.plan));
    };
    return measure_over(connect, 1, asked, around);
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
    if (const auto* suite = std::get_if<SuiteCommand>(&command))
        return suite->run(suite->look, around);
    return loop(std::get<LoopOptions>(command), around);
}

}  // namespace perf
