// SPDX-License-Identifier: Apache-2.0
#include "perf/command/commands.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include "perf/measure/client.h"

namespace perf {

// The suites, in the order of --help. A new one is its folder and its name here.
#define RDMA_PERF_SUITES(EACH) EACH(kKv) EACH(kGids) EACH(kDoctor) EACH(kIsolate)

#define DECLARE(suite) extern const Suite suite;
RDMA_PERF_SUITES(DECLARE)
#undef DECLARE

namespace {
enum class Use : uint8_t { Points, Load };

// Connects so many clients, to the first servers.
using ConnectClients = std::function<Result<std::vector<Client>>(size_t clients, Use use)>;

class Measurement {
  public:
    Measurement(const MeasureOptions& options, const Surroundings& around)
        : options_(options),
          around_(around),
          document_{.kind = "run",
                    .json = options.json,
                    .around = around,
                    .text = data_on_stdout(options) ? around.err : around.out} {
        report_.plan = options.plan;
        report_.client = own_hello();
    }

    // What was measured is printed and written even after an error.
    Exit run(const ConnectClients& connect, size_t hosts) {
        auto done = measure(connect, hosts);
        const auto rows = summarize(report_.results);
        if (options_.plan.reps > 1 && !rows.empty())
            document_.say(summary_table(rows, options_.plan.reps));
        document_.say(tcp_table(rows));
        if (std::ranges::any_of(report_.results,
                                [](const PointResult& r) { return r.checked.wrong.has_value(); }))
            document_.exit = Exit::Corruption;
        for (const std::string& line :
             done ? unmet(options_.expectations, report_.results) : std::vector<std::string>()) {
            print(around_.err, "rdma-perf: " + line + "\n");
            if (document_.exit == Exit::Ok)
                document_.exit = Exit::Threshold;
        }
        document_.members = to_json(report_);
        if (auto written = outputs_.conclude(report_, done); done)
            done = std::move(written);
        return document_.conclude(done);
    }

  private:
    Result<> measure(const ConnectClients& connect, size_t hosts) {
        outputs_ = TRY(Outputs::open(options_, around_.out));
        bool begun = false;
        for (const Batch& batch : batches(options_.plan, hosts)) {
            auto clients = TRY(connect(batch.clients, Use::Points));
            if (!std::exchange(begun, true))
                TRY(begin(clients));
            for (Client& client : clients)
                TRY(client.watch_idle());
            for (const Turn& turn : batch.turns) {
                // For this point only: a server does not wait long for a client that is silent.
                std::vector<Client> loads;
                if (turn.point.load)
                    loads = TRY(connect(batch.clients, Use::Load));
                TRY(take(turn, clients, loads));
            }
        }
        return {};
    }

    Result<> begin(std::span<const Client> clients) {
        report_.pairs.clear();
        for (const Client& client : clients) {
            report_.pairs.push_back(pairing_of(client));
            if (client.has_device() && options_.explain_gid)
                print(around_.err, client.device().explanation);
        }
        TRY(outputs_.begin(document_, report_));
        document_.say(table_head(report_));
        return {};
    }

    Result<> take(const Turn& turn, std::span<Client> clients, std::span<Client> loads) {
        const auto show = [&](const Interim& interim) {
            document_.say(interim_row(turn.point, interim));
            return outputs_.add(turn, interim);
        };
        auto result = conduct(
            clients, turn.point, {.interval_ms = options_.plan.interval_ms, .show = show}, loads);
        // Who is interrupted with the server need not be told of the server's end.
        if (!result && around_.stop.interrupted())
            return stopped_error();
        report_.results.push_back(TRY(std::move(result)));
        report_.results.back().rep = turn.rep;
        TRY(outputs_.add(report_.results.back()));
        document_.say(table_row(report_.results.back()));
        return around_.stop.interrupted() ? Result<>(stopped_error()) : Result<>();
    }

    const MeasureOptions& options_;
    const Surroundings& around_;
    Document document_;
    Report report_;
    Outputs outputs_;
};
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
    return Measurement(asked, around).run(connect, options.hosts.size());
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
    return Measurement(asked, around).run(connect, 1);
}

Exit compare(const CompareOptions& options, const Surroundings& around) {
    Document document{.kind = "compare", .json = options.json, .around = around};
    return document.conclude([&]() -> Result<> {
        const ReportFile a = TRY(read_report(options.a));
        const ReportFile b = TRY(read_report(options.b));
        const Comparison comparison = compare_reports(a, b, options.allow);
        if (!comparison.fair()) {
            print(around.err, refusal_text(comparison, a, b));
            return make_error(Code::Usage, "not compared: settings differ");
        }
        if (comparison.rows.empty())
            return make_error(Code::Usage,
                              "no point was measured in both {} and {}",
                              printable(options.a),
                              printable(options.b))
                .advise("run both with the same --verb, --mode and --size");
        document.say(table_of(comparison, a, b));
        document.members = json_of(comparison, a, b);
        document.exit = comparison.meets(options.expect) ? Exit::Ok : Exit::Threshold;
        return {};
    }());
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
    if (const auto* asked = std::get_if<SuiteCommand>(&command)) {
        Document document{.kind = asked->suite->name, .json = asked->look.json, .around = around};
        return document.conclude(asked->run(asked->look, document));
    }
    return loop(std::get<LoopOptions>(command), around);
}

std::span<const Suite* const> all_suites() {
#define ADDRESS(suite) &suite,
    static constexpr const Suite* kSuites[] = {RDMA_PERF_SUITES(ADDRESS)};
#undef ADDRESS
    return kSuites;
}

}  // namespace perf
