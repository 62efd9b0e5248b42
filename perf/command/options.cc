// SPDX-License-Identifier: Apache-2.0
#include "perf/command/options.h"

#include <cstdlib>
#include <list>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "netns/base/help.h"
#include "perf/address/attach.h"
#include "perf/command/plan_options.h"
#include "perf/report/outputs.h"
#include "perf/system/tcp.h"

namespace perf {

namespace {
// The words as they are given; parse_words() makes values of them.
struct Words {
    PlanWords plan;
    std::string gid = "auto";
    std::string timeout = "5s";
    std::string expect;
    std::string device;
    std::string attach_file{kAttachFile};
    std::string memory = "host";
    bool allow_isolation_tests = false;
};

void add_wish_options(CLI::App& app, Words& words) {
    app.add_option("--device", words.device, "RDMA device (default: the one whose GID fits)");
    app.add_option("--gid", words.gid, "GID index, or auto")->capture_default_str();
    app.add_option("--timeout", words.timeout, "deadline of each step")->capture_default_str();
    app.add_option(
           "--attach-file", words.attach_file, "file in which rdma-hook says what it attached")
        ->capture_default_str();
}

void add_side_options(CLI::App& app, Words& words, bool& explain_gid) {
    add_wish_options(app, words);
    app.add_flag("--explain-gid", explain_gid, "print every GID with the reason for or against it");
    app.add_option("--memory",
                   words.memory,
                   "this side's buffers: host, huge, cuda[:N], rocm[:N], dmabuf:FD")
        ->capture_default_str();
}

// A suite's command, until it is known whether it is asked for.
struct DeclaredSuite {
    const Suite* suite = nullptr;
    CLI::App* app = nullptr;
    LookOptions look = {};
    std::function<Result<SuiteRun>()> read = {};
};

void declare(DeclaredSuite& declared, Words& words) {
    CLI::App& app = *declared.app;
    LookOptions& look = declared.look;
    look.port = kDefaultPort;
    if (declared.suite->host.empty())
        app.add_option("--peer", look.peer, "address or name of the other side");
    else
        app.add_option("host", look.peer, std::string(declared.suite->host))->required();
    if (!declared.suite->port.empty())
        app.add_option("--port", look.port, std::string(declared.suite->port))
            ->capture_default_str();
    if (declared.suite->declare != nullptr)
        declared.read = declared.suite->declare(app);
    app.add_option("--json", look.json, "file for the answer as JSON; - for stdout");
    add_wish_options(app, words);
}

void add_measure_options(CLI::App& app, Words& words, MeasureOptions& measure) {
    add_plan_options(app, words.plan);
    app.add_option("--json", measure.json, "file for the report as JSON; - for stdout");
    app.add_option("--csv", measure.csv, "file for CSV, a line for each result; - for stdout");
    app.add_option("--jsonl", measure.jsonl, "file for JSON, a line for each result; - for stdout");
    app.add_option("--expect",
                   words.expect,
                   "exit with 4 unless all results meet this, e.g. 'bw>=900MiB/s,p99<=60us'");
    add_side_options(app, words, measure.explain_gid);
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
    return value == nullptr ? "" : value;
}

Result<SideOptions> parse_side(const Words& words) {
    SideOptions side;
    side.timeout = std::chrono::milliseconds(TRY(parse_time_ms(words.timeout)));
    side.wish.device = words.device;
    if (words.gid != "auto")
        side.wish.gid_index = TRY(parse_count("--gid", words.gid, 255));
    side.memory = TRY(open_memory(words.memory));
    side.allow_isolation_tests = words.allow_isolation_tests;
    side.wish.attach_file = words.attach_file;
    side.wish.env_device = environment("RDMA_DEVICE");
    side.wish.env_gid = environment("RDMA_GID");
    return side;
}

// "thesis": run with a plan of examples/evaluation/plans, for evaluations that still say so.
PlanWords thesis_words() {
    PlanWords words;
    words.verbs = "read,write,send";
    words.sizes = "2..8M:*2";
    words.qps = "1,2,4,8,16,32";
    words.time = "500ms";
    words.plan.reps = 6;  // fewer have no 95 % interval
    return words;
}

void add_thesis_options(CLI::App& app, RunOptions& run, std::string& suite, PlanWords& words) {
    app.add_option("host", run.hosts, "servers; the suite multi_dev uses the first, and so on")
        ->required()
        ->expected(1, static_cast<int>(kMaxHosts));
    app.add_option("--port", run.port, "TCP port")->capture_default_str();
    app.add_option("--suite", suite, "basic, cpu, multi_dev or multi_qp")
        ->required()
        ->check(CLI::IsMember({"basic", "cpu", "multi_dev", "multi_qp"}));
    app.add_option("--size", words.sizes, "sizes of basic and cpu")->capture_default_str();
    app.add_option("--qps", words.qps, "queue pairs of multi_qp")->capture_default_str();
    app.add_option("--time", words.time, "time of each point")->capture_default_str();
    app.add_option("--reps", words.plan.reps, "repetitions")->capture_default_str();
    app.add_option("--mtu", words.mtu, "path MTU in bytes, or auto")->capture_default_str();
    app.add_option("--json", run.measure.json, "file for the report as JSON; - for stdout");
}

Result<Plan> parse_thesis(const std::string& suite, PlanWords words) {
    words.modes = suite == "basic" ? "bw,lat" : "bw";
    if (suite != "basic" && suite != "cpu")
        words.sizes = "64K";
    // What a thread that polls burns says nothing of the payload.
    words.poll = suite == "cpu" ? "event" : "auto";
    if (suite != "multi_qp")
        words.qps = "1";
    Plan plan = TRY(parse_plan(words));
    plan.hosts = suite == "multi_dev" ? Hosts::Ramp : Hosts::All;
    return plan;
}

Result<MeasureOptions> parse_measure(const Words& words, MeasureOptions measure) {
    measure.side = TRY(parse_side(words));
    measure.plan = TRY(parse_plan(words.plan));
    measure.side.by_cm = measure.plan.connect == Connect::Cm;
    measure.expectations = TRY(parse_expectations(words.expect));
    TRY(check_outputs(measure));
    return measure;
}

constexpr char kFooter[] =
    "Examples:\n"
    "  rdma-perf serve --bind 10.9.0.1       there: serves every test\n"
    "  rdma-perf run 10.9.0.1                here: checks the data, and measures\n"
    "  rdma-perf doctor --peer 10.9.0.1      what keeps the two apart\n"
    "  rdma-perf loop                        both ends in this process\n"
    "See rdma-perf(1), and rdma-perf COMMAND --help.";
constexpr char kRunFooter[] =
    "Examples:\n"
    "  rdma-perf run 10.9.0.1 --verb write --mode bw --time 2s --json report.json\n"
    "  rdma-perf run 10.9.0.1 --verb send --mode lat --size 64 --poll event\n"
    "See rdma-perf(1).";

template <class T>
Result<T> as_usage(Result<T> result) {
    if (result || result.error().code != Code::BadInput)
        return result;
    return std::move(result).error().as(Code::Usage, "see rdma-perf --help");
}
}  // namespace

Result<Command> parse_command_line(int argc,
                                   const char* const* argv,
                                   std::span<const Suite* const> suites) {
    CLI::App app("Validates and measures RDMA: every byte is checked before anything is timed.",
                 "rdma-perf");
    app.formatter(std::make_shared<base::HelpFormatter>());
    app.set_version_flag("--version", std::string("rdma-perf ") + RDMA_VERSION);
    app.require_subcommand(1);
    Words words;
    ServeOptions serve;
    RunOptions run;
    LoopOptions loop;
    RunOptions thesis;
    serve.port = run.port = thesis.port = kDefaultPort;

    auto* serve_app = app.add_subcommand("serve", "serve every test of any client");
    serve_app->add_option("--bind", serve.bind, "address to listen on (default: loopback only)");
    serve_app->add_option("--port", serve.port, "TCP port")->capture_default_str();
    serve_app->add_flag("--once", serve.once, "end after the first client");
    serve_app->add_flag("--allow-isolation-tests",
                        words.allow_isolation_tests,
                        "let clients run `isolate` against one page of this process");
    add_side_options(*serve_app, words, serve.explain_gid);

    auto* run_app = app.add_subcommand("run", "measure against a server");
    run_app
        ->add_option(
            "host", run.hosts, "servers, measured at the same time; name one twice for two clients")
        ->required();
    run_app->add_option("--port", run.port, "TCP port")->capture_default_str();
    add_measure_options(*run_app, words, run.measure);

    auto* loop_app =
        app.add_subcommand("loop", "measure with both ends in this process; needs no peer");
    add_measure_options(*loop_app, words, loop.measure);

    std::string thesis_suite;
    PlanWords thesis_plan = thesis_words();
    auto* thesis_app =
        app.add_subcommand("thesis", "run a suite: sizes, CPU cost, devices or queue pairs");
    add_thesis_options(*thesis_app, thesis, thesis_suite, thesis_plan);
    add_wish_options(*thesis_app, words);

    CompareWords compare;
    auto* compare_app = app.add_subcommand("compare", "compare two reports");
    add_compare_options(*compare_app, compare);

    std::list<DeclaredSuite> declared;  // addresses stay
    for (const Suite* suite : suites) {
        auto* suite_app = app.add_subcommand(std::string(suite->name), std::string(suite->help));
        declare(declared.emplace_back(DeclaredSuite{.suite = suite, .app = suite_app}), words);
    }

    // Last: what is declared under an App takes over its footer.
    app.footer(kFooter);
    run_app->footer(kRunFooter);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return Command(HelpText{app.help()});
    } catch (const CLI::CallForVersion&) {
        return Command(HelpText{app.version() + "\n"});
    } catch (const CLI::ParseError& error) {
        return make_error(Code::Usage, printable(error.what(), 300)).advise("see rdma-perf --help");
    }
    if (serve_app->parsed()) {
        serve.side = TRY(as_usage(parse_side(words)));
        return Command(serve);
    }
    if (loop_app->parsed()) {
        loop.measure = TRY(as_usage(parse_measure(words, loop.measure)));
        return Command(loop);
    }
    if (thesis_app->parsed()) {
        thesis.measure.side = TRY(as_usage(parse_side(words)));
        thesis.measure.plan = TRY(as_usage(parse_thesis(thesis_suite, thesis_plan)));
        return Command(thesis);
    }
    if (compare_app->parsed())
        return Command(TRY(as_usage(parse_compare(compare))));
    for (DeclaredSuite& each : declared) {
        if (!each.app->parsed())
            continue;
        each.look.side = TRY(as_usage(parse_side(words)));
        SuiteRun suite_run = each.read ? TRY(as_usage(each.read())) : SuiteRun(each.suite->run);
        return Command(SuiteCommand{std::move(each.look), std::move(suite_run)});
    }
    run.measure = TRY(as_usage(parse_measure(words, run.measure)));
    return Command(run);
}

}  // namespace perf
