// SPDX-License-Identifier: Apache-2.0
#include "perf/commands.h"

#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "netns/base/files.h"
#include "perf/client.h"
#include "perf/report.h"
#include "perf/tcp.h"

namespace perf {

using base::Result;
using base::UniqueFd;

namespace {
void print(std::FILE* to, const std::string& text) {
    // Nobody reads: nothing to be done about it.
    (void)std::fputs(text.c_str(), to);
    (void)std::fflush(to);
}

// Runs the plan over a control connection; what was measured stays in the report even on an error.
Result<> measure(Control control,
                 const MeasureOptions& options,
                 const Surroundings& around,
                 Report& report) {
    std::FILE* table = options.json == "-" ? around.err : around.out;
    Client client = TRY(Client::start(around.verbs, std::move(control), options.side));
    report.server = client.server();
    report.client_device = client.device().info;
    report.server_device = client.server_device();
    if (options.explain_gid)
        print(around.err, client.device().explanation);
    print(table, table_head(report));
    TRY(client.watch_idle());
    for (const Point& point : expand(options.plan)) {
        report.results.push_back(TRY(client.run(point)));
        print(table, table_row(report.results.back()));
    }
    return {};
}

Result<> write_json(const Report& report, const std::string& where, std::FILE* out) {
    const std::string text =
        to_json(report).dump(2, ' ', false, base::Json::error_handler_t::replace);
    if (where == "-") {
        print(out, text + "\n");
        return {};
    }
    const UniqueFd fd(::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd)
        return base::sys_error("open " + where);
    return base::write_all(fd.get(), text + "\n", where);
}

Report new_report(const MeasureOptions& options) {
    Report report;
    report.started = utc_now();
    report.plan = options.plan;
    report.client = own_hello();
    return report;
}

// Prints what is left to print; the exit code of the whole.
Exit conclude(Report report, Result<> done, const MeasureOptions& options, const Surroundings& a) {
    Exit exit = report.corrupt() ? Exit::Corruption : Exit::Ok;
    if (!done) {
        print(a.err, "rdma-perf: " + done.error().message() + "\n");
        if (exit == Exit::Ok)
            exit = exit_of(done.error());
        report.error = std::move(done).error();
    }
    if (options.json.empty())
        return exit;
    if (auto written = write_json(report, options.json, a.out); !written) {
        print(a.err, "rdma-perf: " + written.error().message() + "\n");
        return exit == Exit::Ok ? Exit::Internal : exit;
    }
    return exit;
}
}  // namespace

Exit run(const RunOptions& options, const Surroundings& around) {
    Report report = new_report(options.measure);
    auto done = [&]() -> Result<> {
        UniqueFd fd = TRY(connect_to(options.host,
                                     options.port,
                                     base::Deadline::in(options.measure.side.timeout),
                                     around.stop));
        return measure(Control(std::move(fd), around.stop), options.measure, around, report);
    }();
    return conclude(std::move(report), std::move(done), options.measure, around);
}

Exit loop(const LoopOptions& options, const Surroundings& around) {
    Report report = new_report(options.measure);
    auto done = [&]() -> Result<> {
        int pair[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
            return base::sys_error("socketpair");
        Control ours(UniqueFd(pair[0]), around.stop);
        // The session tells its errors to the client, which reports them.
        std::jthread server([&around, &options, fd = pair[1]] {
            Session session(around.verbs, Control(UniqueFd(fd), around.stop), options.measure.side);
            (void)session.run();
        });
        return measure(std::move(ours), options.measure, around, report);
    }();
    return conclude(std::move(report), std::move(done), options.measure, around);
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
    return loop(std::get<LoopOptions>(command), around);
}

}  // namespace perf
