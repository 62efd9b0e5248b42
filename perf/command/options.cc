// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <list>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "netns/base/help.h"
#include "perf/address/gid.h"
#include "perf/command/commands.h"
#include "perf/measure/schedule.h"
#include "perf/system/tcp.h"

namespace perf {

namespace {
// ---- a plan: what run and loop measure, by words or by a file that has it already ---------------
// The words of a plan as they are given; checked_plan() makes values of them.
struct PlanWords {
    Plan plan;  // of options that are plain numbers
    std::string verbs = "write,read,send";
    std::string transports = "rc";
    std::string modes = "bw,lat";
    std::string sizes = "64,4K,64K";
    std::string time = {};
    std::string interval = {};
    std::string depth = "auto";
    std::string batch = "auto";
    std::string qps = "1";
    std::string direction = "forward";
    std::string load = "none";
    bool cm = false;
    std::string mtu = "auto";
    std::string poll = "auto";
    std::string verify = "edges";
    std::string ordering = "relaxed";
    uint32_t dscp = 0;
    std::string reads = "auto";
    std::string inline_bytes = "auto";
    std::string signal = "auto";
    std::string ring = "auto";
    std::optional<uint64_t> seed = {};
    std::string file = {};  // instead of all these
};

constexpr uint32_t kMaxDscp = 63;
constexpr uint32_t kEcnBits = 2;  // below it in the traffic class

constexpr uint32_t kMaxAllThreads = 32 * kMaxThreads;  // of a server's clients

void add_words(CLI::App& app, PlanWords& words) {
    const auto add = [&](const char* name, auto& value, const char* help) {
        app.add_option(name, value, help)->capture_default_str();
    };
    add("--verb",
        words.verbs,
        "list of write, read, send, write_imm, send_imm, fetch_add, cmp_swap");
    add("--transport",
        words.transports,
        "list of rc, uc (write, send), ud (send), srd (EFA), tcp (send, to compare)");
    app.add_flag("--cm", words.cm, "connect with rdma_cm (rc only; required for iWARP)");
    add("--mode", words.modes, "list of bw, lat");
    add("--size", words.sizes, "4096 | 64,4K,64K | 2..8M:*2 | 1K..8K:+1K");
    auto* iterations = app.add_option(
        "--iterations", words.plan.iterations, "messages of each point, instead of --time");
    app.add_option("--time", words.time, "time of each point (default 500ms), or forever")
        ->excludes(iterations);
    app.add_option("--interval", words.interval, "time after which a point tells how far it is")
        ->excludes(iterations);
    add("--qps", words.qps, "list: number of queue pairs (bw)");
    add("--threads", words.plan.threads, "worker threads on each side, at most one per queue pair");
    add("--direction",
        words.direction,
        "direction of the data: forward (client to server), reverse or both (bw)");
    add("--depth", words.depth, "list: messages in flight (bw), or auto");
    add("--batch", words.batch, "list: messages posted at once (bw), or auto");
    add("--signal", words.signal, "messages for each completion (bw), or auto: the batch");
    add("--inline", words.inline_bytes, "bytes of the largest inline message, or auto");
    add("--reads",
        words.reads,
        "operations in flight (read, atomics), or auto: what the devices can do");
    Marks& marks = words.plan.marks;
    auto* traffic_class =
        app.add_option("--tclass", marks.traffic_class, "traffic class of packets, 0 to 255");
    app.add_option("--dscp", words.dscp, "upper six bits of the traffic class, 0 to 63")
        ->excludes(traffic_class);
    app.add_option("--sl", marks.service_level, "service level of packets, 0 to 15");
    app.add_option("--flow-label", marks.flow_label, "flow label of packets, 0 to 1048575");
    app.add_option("--pkey-index", marks.pkey_index, "index of the partition in this side's table");
    add("--ring", words.ring, "bytes of memory that messages go round in, or auto");
    app.add_option("--rate",
                   words.plan.rate,
                   "messages per second (lat); default: each waits for the one before");
    add("--with", words.load, "load beside (lat): VERB:SIZE, as write:64K, on other queue pairs");
    add("--poll", words.poll, "list of auto, spin, yield, event, hybrid, hybrid:Nus");
    add("--mtu", words.mtu, "path MTU in bytes, or auto");
    add("--ordering", words.ordering, "list: order of writes on PCIe: relaxed, strict");
    add("--verify", words.verify, "check the data: edges, full or off");
    app.add_option("--seed", words.seed, "seed of the data pattern (default: random)");
    add("--reps", words.plan.reps, "repetitions of the whole list of points");
}

Result<uint32_t> parse_count(std::string_view option, std::string_view text, uint32_t limit) {
    const auto value = number_of(text);
    if (!value || *value > limit)
        return make_error(Code::Usage,
                          "{} '{}' is neither auto nor a number up to {}",
                          option,
                          printable(text),
                          limit);
    return static_cast<uint32_t>(*value);
}

// "auto" is 0, and a 0 that is written is an error.
Result<uint32_t> parse_positive(std::string_view option, std::string_view text, uint32_t limit) {
    const uint32_t count = text == "auto" ? 0 : TRY(parse_count(option, text, limit));
    if (text != "auto" && count == 0)
        return make_error(Code::Usage, "{} 0 is too small", option);
    return count;
}

// "auto", "16", "auto,16,32".
Result<std::vector<uint32_t>> count_list(std::string_view option,
                                         std::string_view text,
                                         uint32_t limit) {
    std::vector<uint32_t> counts;
    for (const auto word : split(text, ',')) {
        counts.push_back(TRY(parse_positive(option, word, limit)));
        if (counts.size() > kMaxValues)
            return make_error(Code::Usage, "{}: more than {} values", option, kMaxValues);
    }
    return counts;
}

Result<Plan> plan_of(const PlanWords& words) {
    Plan plan = words.plan;
    plan.verbs = TRY(parse_list(words.verbs, parse_word<Verb>));
    plan.modes = TRY(parse_list(words.modes, parse_word<Mode>));
    plan.sizes = TRY(parse_sizes(words.sizes));
    if (!words.time.empty())
        plan.time_ms = words.time == "forever" ? kForever : TRY(parse_time_ms(words.time));
    else if (plan.iterations == 0)
        plan.time_ms = kDefaultTimeMs;
    if (!words.interval.empty())
        plan.interval_ms = TRY(parse_time_ms(words.interval).context("--interval"));
    plan.depths = TRY(count_list("--depth", words.depth, kMaxDepth));
    plan.batches = TRY(count_list("--batch", words.batch, kMaxDepth));
    plan.qps = TRY(count_list("--qps", words.qps, kMaxQps));
    if (std::ranges::find(plan.qps, 0U) != plan.qps.end())
        return make_error(Code::Usage, "--qps has no auto");
    plan.polls = TRY(parse_list(words.poll, parse_poll));
    plan.direction = TRY(parse_word<Direction>(words.direction));
    plan.load = TRY(parse_load(words.load));
    plan.connect = words.cm ? Connect::Cm : Connect::Exchange;
    if (words.mtu != "auto")
        plan.mtu = TRY(parse_count("--mtu", words.mtu, 4096));
    plan.verify = TRY(parse_word<Verify>(words.verify));
    plan.orderings = TRY(parse_list(words.ordering, parse_word<Ordering>));
    if (words.dscp > kMaxDscp)
        return make_error(Code::Usage, "--dscp {} is not from 0 to {}", words.dscp, kMaxDscp);
    if (words.dscp != 0)
        plan.marks.traffic_class = words.dscp << kEcnBits;
    plan.reads = TRY(parse_positive("--reads", words.reads, kMaxReads));
    plan.signal = TRY(parse_positive("--signal", words.signal, kMaxDepth));
    if (words.ring != "auto")
        plan.ring_bytes = TRY(parse_size(words.ring).context("--ring"));
    if (words.inline_bytes != "auto")
        plan.inline_bytes = TRY(parse_count("--inline", words.inline_bytes, kMaxInlineBytes));
    plan.transports = TRY(parse_list(words.transports, parse_word<Transport>));
    plan.seed = words.seed.value_or(random_seed());
    return plan;
}

Result<Plan> checked_plan(const PlanWords& words) {
    Plan plan = TRY(words.file.empty() ? plan_of(words) : read_plan(words.file));
    TRY(check_plan(plan));
    return plan;
}

// ---- the commands -------------------------------------------------------------------------------
struct Words {
    PlanWords plan;
    SideOptions side;  // of options that are plain values
    std::string gid = "auto";
    std::string timeout = "5s";
    std::string allow;
    std::string expect;
    std::string memory = "host";
    std::string max_threads = "auto";
};

void add_wish_options(CLI::App& app, Words& words) {
    DeviceWish& wish = words.side.wish;
    wish.attach_file = kAttachFile;
    app.add_option("--device", wish.device, "RDMA device (default: the one whose GID fits)");
    app.add_option("--gid", words.gid, "GID index, or auto")->capture_default_str();
    app.add_option("--timeout", words.timeout, "deadline of each step")->capture_default_str();
    app.add_option(
           "--attach-file", wish.attach_file, "file in which rdma-hook says what it attached")
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
    const size_t others = app.get_options().size();
    add_words(app, words.plan);
    const auto all = app.get_options();
    auto* file =
        app.add_option("--plan",
                       words.plan.file,
                       "file with a JSON report or a plan, to use instead of the options above");
    for (size_t i = others; i < all.size(); ++i)
        file->excludes(all[i]);
    app.add_option("--json", measure.json, "file for the report as JSON; - for stdout");
    app.add_option("--csv", measure.csv, "file for CSV, a line for each result; - for stdout");
    app.add_option("--jsonl", measure.jsonl, "file for JSON, a line for each result; - for stdout");
    app.add_option("--expect",
                   words.expect,
                   "exit with 4 unless all results meet this, e.g. 'bw>=90Gb/s,p99<=60us'");
    add_side_options(app, words, measure.explain_gid);
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
    return value == nullptr ? "" : value;
}

Result<SideOptions> parse_side(const Words& words) {
    SideOptions side = words.side;
    side.timeout = std::chrono::milliseconds(TRY(parse_time_ms(words.timeout)));
    if (words.gid != "auto")
        side.wish.gid_index = TRY(parse_count("--gid", words.gid, 255));
    side.memory = TRY(open_memory(words.memory));
    side.wish.env_device = environment("RDMA_DEVICE");
    side.wish.env_gid = environment("RDMA_GID");
    return side;
}

// "thesis": run with a plan of examples/evaluation/plans, for evaluations that still say so.
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
    Plan plan = TRY(checked_plan(words));
    plan.hosts = suite == "multi_dev" ? Hosts::Ramp : Hosts::All;
    return plan;
}

Result<MeasureOptions> parse_measure(const Words& words, MeasureOptions measure) {
    measure.side = TRY(parse_side(words));
    measure.plan = TRY(checked_plan(words.plan));
    measure.side.by_cm = measure.plan.connect == Connect::Cm;
    measure.expectations = TRY(parse_expectations(words.expect));
    TRY(check_outputs(measure));
    return measure;
}

std::string listed() {
    return fmt::format("{}", fmt::join(allow_words(), ","));
}

Result<std::string> parse_allowed(std::string_view word) {
    if (std::ranges::count(allow_words(), word) != 0)
        return std::string(word);
    return make_error(
        Code::Usage, "--allow '{}' is not known (allowed: {})", printable(word), listed());
}

void add_compare_options(CLI::App& app, Words& words, CompareOptions& compare) {
    app.add_option("A", compare.a, "report from before")->required();
    app.add_option("B", compare.b, "report from now; ratios are B/A")->required();
    app.add_option("--allow", words.allow, "settings that may differ: list of " + listed());
    app.add_option("--expect",
                   words.expect,
                   "exit with 4 unless all results are: equal, not-slower or faster");
    app.add_option("--json", compare.json, "file for the comparison as JSON; - for stdout");
}

Result<CompareOptions> parse_compare(const Words& words, CompareOptions compare) {
    if (!words.allow.empty())
        compare.allow = TRY(parse_list(words.allow, parse_allowed));
    if (!words.expect.empty())
        compare.expect = TRY(parse_word<Expect>(words.expect));
    return compare;
}

constexpr char kFooter[] =
    "Examples:\n"
    "  rdma-perf serve --bind 10.9.0.1       there: serves every test\n"
    "  rdma-perf run 10.9.0.1                here: checks the data, and measures\n"
    "  rdma-perf doctor --peer 10.9.0.1      what keeps the two apart\n"
    "  rdma-perf loop                        both ends in this process\n"
    "See rdma-perf(1), and rdma-perf COMMAND --help.\n"
    "Coming from perftest: /usr/share/doc/rdma-perf/from-perftest.md";
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
    RunOptions run;  // of loop and thesis, too
    serve.port = run.port = kDefaultPort;

    auto* serve_app = app.add_subcommand("serve", "serve every test of any client");
    serve_app->add_option("--bind", serve.bind, "address to listen on (default: loopback only)");
    serve_app->add_option("--port", serve.port, "TCP port")->capture_default_str();
    serve_app->add_flag("--once", serve.once, "end after the first client");
    serve_app->add_option(
        "--max-threads", words.max_threads, "measuring threads of all clients, or auto");
    serve_app->add_flag("--allow-isolation-tests",
                        words.side.allow_isolation_tests,
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
    add_measure_options(*loop_app, words, run.measure);

    std::string thesis_suite;
    PlanWords thesis_plan{.plan = {.reps = 6},  // fewer have no 95 % interval
                          .verbs = "read,write,send",
                          .sizes = "2..8M:*2",
                          .time = "500ms",
                          .qps = "1,2,4,8,16,32"};
    auto* thesis_app =
        app.add_subcommand("thesis", "run a suite: sizes, CPU cost, devices or queue pairs");
    add_thesis_options(*thesis_app, run, thesis_suite, thesis_plan);
    add_wish_options(*thesis_app, words);

    CompareOptions compare;
    auto* compare_app = app.add_subcommand("compare", "compare two reports");
    add_compare_options(*compare_app, words, compare);

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
        serve.max_threads = TRY(parse_positive("--max-threads", words.max_threads, kMaxAllThreads));
        return Command(serve);
    }
    if (compare_app->parsed())
        return Command(TRY(as_usage(parse_compare(words, compare))));
    for (DeclaredSuite& each : declared) {
        if (!each.app->parsed())
            continue;
        each.look.side = TRY(as_usage(parse_side(words)));
        SuiteRun suite_run = each.read ? TRY(as_usage(each.read())) : SuiteRun(each.suite->run);
        return Command(SuiteCommand{each.suite, std::move(each.look), std::move(suite_run)});
    }
    if (thesis_app->parsed()) {
        run.measure.side = TRY(as_usage(parse_side(words)));
        run.measure.plan = TRY(as_usage(parse_thesis(thesis_suite, thesis_plan)));
        return Command(run);
    }
    run.measure = TRY(as_usage(parse_measure(words, run.measure)));
    return loop_app->parsed() ? Command(LoopOptions{run.measure}) : Command(run);
}

}  // namespace perf
