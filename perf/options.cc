// SPDX-License-Identifier: Apache-2.0
#include "perf/options.h"

#include <charconv>
#include <cstdlib>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/random.h>

#include "perf/attach.h"
#include "perf/outputs.h"
#include "perf/schedule.h"
#include "perf/tcp.h"

namespace perf {

using base::Code;
using base::make_error;
using base::Result;

namespace {
// The words as they are given; parse_words() makes values of them.
struct Words {
    std::string verbs = "write,read,send";
    std::string transport = "rc";
    std::string modes = "bw,lat";
    std::string sizes = "64,4K,64K";
    std::string time;
    uint64_t iterations = 0;
    std::string depth = "auto";
    std::string mtu = "auto";
    std::string poll = "auto";
    std::string verify = "full";
    std::string gid = "auto";
    std::string timeout = "5s";
    std::optional<uint64_t> seed;
    uint32_t reps = 1;
    std::string device;
    std::string attach_file{kAttachFile};
};

constexpr uint32_t kDefaultTimeMs = 500;

void add_wish_options(CLI::App& app, Words& words) {
    app.add_option("--device", words.device, "RDMA device (default: the one whose GID fits)");
    app.add_option("--gid", words.gid, "GID index, or auto")->capture_default_str();
    app.add_option("--timeout", words.timeout, "deadline of each step")->capture_default_str();
    app.add_option("--attach-file", words.attach_file, "what rdma-hook attached")
        ->capture_default_str();
}

void add_side_options(CLI::App& app, Words& words, bool& explain_gid) {
    add_wish_options(app, words);
    app.add_flag("--explain-gid", explain_gid, "print every GID with the reason for or against it");
}

void add_look_options(CLI::App& app, Words& words, LookOptions& look) {
    app.add_option("--peer", look.peer, "address or name of the other side");
    app.add_option("--json", look.json, "write the answer there as JSON; - for stdout");
    add_wish_options(app, words);
}

void add_measure_options(CLI::App& app, Words& words, MeasureOptions& measure) {
    app.add_option("--verb",
                   words.verbs,
                   "list of write, read, send, write_imm, send_imm, fetch_add, cmp_swap")
        ->capture_default_str();
    app.add_option("--transport", words.transport, "rc, uc (write, send) or ud (send)")
        ->capture_default_str();
    app.add_option("--mode", words.modes, "list of bw, lat")->capture_default_str();
    app.add_option("--size", words.sizes, "4096 | 64,4K,64K | 2..8M:*2 | 1K..8K:+1K")
        ->capture_default_str();
    auto* iterations = app.add_option("--iterations", words.iterations, "messages of each point");
    app.add_option("--time", words.time, "time of each point (default 500ms)")
        ->excludes(iterations);
    app.add_option("--depth", words.depth, "messages in flight (bw), or auto")
        ->capture_default_str();
    app.add_option("--poll", words.poll, "auto, spin, yield or event")->capture_default_str();
    app.add_option("--mtu", words.mtu, "path MTU in bytes, or auto")->capture_default_str();
    app.add_option("--verify", words.verify, "full or off")->capture_default_str();
    app.add_option("--seed", words.seed, "seed of the data pattern (default: random)");
    app.add_option("--reps", words.reps, "run the whole list of points that often")
        ->capture_default_str();
    app.add_option("--json", measure.json, "write the report there as JSON; - for stdout");
    app.add_option("--csv", measure.csv, "write each result there as a line; - for stdout");
    app.add_option("--jsonl", measure.jsonl, "write each result there as JSON; - for stdout");
    add_side_options(app, words, measure.explain_gid);
}

Result<uint32_t> parse_count(std::string_view option, const std::string& text, uint32_t limit) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > limit)
        return make_error(Code::Usage,
                          fmt::format("{} '{}' is neither auto nor a number up to {}",
                                      option,
                                      base::printable(text),
                                      limit));
    return value;
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
    side.wish.attach_file = words.attach_file;
    side.wish.env_device = environment("RDMA_DEVICE");
    side.wish.env_gid = environment("RDMA_GID");
    return side;
}

uint64_t random_seed() {
    uint64_t seed = 0;
    if (::getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = static_cast<uint64_t>(base::Deadline::Clock::now().time_since_epoch().count());
    return seed;
}

Result<Plan> parse_plan(const Words& words) {
    Plan plan;
    for (const auto word : split(words.verbs, ','))
        plan.verbs.push_back(TRY(parse_verb(word)));
    for (const auto word : split(words.modes, ','))
        plan.modes.push_back(TRY(parse_mode(word)));
    plan.sizes = TRY(parse_sizes(words.sizes));
    plan.iterations = words.iterations;
    if (!words.time.empty())
        plan.time_ms = TRY(parse_time_ms(words.time));
    else if (plan.iterations == 0)
        plan.time_ms = kDefaultTimeMs;
    if (words.depth != "auto")
        plan.depth = TRY(parse_count("--depth", words.depth, kMaxDepth));
    if (words.mtu != "auto")
        plan.mtu = TRY(parse_count("--mtu", words.mtu, 4096));
    plan.poll = TRY(parse_poll(words.poll));
    plan.verify = TRY(parse_verify(words.verify));
    plan.transport = TRY(parse_transport(words.transport));
    plan.seed = words.seed.value_or(random_seed());
    plan.reps = words.reps;
    const auto points = expand(plan);
    if (points.size() > kMaxPoints)
        return make_error(Code::Usage,
                          fmt::format("{} points are more than {}", points.size(), kMaxPoints));
    for (const Point& point : points)
        TRY(check_limits(point).context(describe(point)));
    TRY(check_reps(plan, points.size()));
    return plan;
}

Result<MeasureOptions> parse_measure(const Words& words, MeasureOptions measure) {
    measure.side = TRY(parse_side(words));
    measure.plan = TRY(parse_plan(words));
    TRY(check_outputs(measure));
    return measure;
}

template <class T>
Result<T> as_usage(Result<T> result) {
    if (!result && result.error().code == Code::BadInput)
        result.error().code = Code::Usage;
    return result;
}
}  // namespace

Result<Command> parse_command_line(int argc, const char* const* argv) {
    CLI::App app("Validates and measures RDMA: every byte is checked before anything is timed.",
                 "rdma-perf");
    app.set_version_flag("--version", std::string("rdma-perf ") + RDMA_VERSION);
    app.require_subcommand(1);
    Words words;
    ServeOptions serve;
    RunOptions run;
    LoopOptions loop;
    GidsOptions gids;
    DoctorOptions doctor;
    serve.port = run.port = doctor.look.port = kDefaultPort;

    auto* serve_app = app.add_subcommand("serve", "serve every test of any client");
    serve_app->add_option("--bind", serve.bind, "address to listen on (default: loopback only)");
    serve_app->add_option("--port", serve.port, "TCP port")->capture_default_str();
    serve_app->add_flag("--once", serve.once, "end after the first client");
    add_side_options(*serve_app, words, serve.explain_gid);

    auto* run_app = app.add_subcommand("run", "measure against a server");
    run_app->add_option("host", run.host, "address or name of the server")->required();
    run_app->add_option("--port", run.port, "TCP port")->capture_default_str();
    add_measure_options(*run_app, words, run.measure);

    auto* loop_app = app.add_subcommand("loop", "both ends in this process: needs no peer");
    add_measure_options(*loop_app, words, loop.measure);

    CompareWords compare;
    auto* compare_app = app.add_subcommand("compare", "compare two reports, with repetitions");
    add_compare_options(*compare_app, compare);
    auto* gids_app = app.add_subcommand("gids", "every GID, and which one would be used and why");
    add_look_options(*gids_app, words, gids.look);

    auto* doctor_app =
        app.add_subcommand("doctor", "check what this container can see; changes nothing");
    doctor_app->add_option("--port", doctor.look.port, "TCP port of the peer")
        ->capture_default_str();
    add_look_options(*doctor_app, words, doctor.look);

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return Command(HelpText{app.help()});
    } catch (const CLI::CallForVersion&) {
        return Command(HelpText{app.version() + "\n"});
    } catch (const CLI::ParseError& error) {
        return make_error(Code::Usage, base::printable(error.what(), 300))
            .advise("see rdma-perf --help");
    }
    if (serve_app->parsed()) {
        serve.side = TRY(as_usage(parse_side(words)));
        return Command(serve);
    }
    if (loop_app->parsed()) {
        loop.measure = TRY(as_usage(parse_measure(words, loop.measure)));
        return Command(loop);
    }
    if (compare_app->parsed())
        return Command(TRY(parse_compare(compare)));
    if (gids_app->parsed()) {
        gids.look.side = TRY(as_usage(parse_side(words)));
        return Command(gids);
    }
    if (doctor_app->parsed()) {
        doctor.look.side = TRY(as_usage(parse_side(words)));
        return Command(doctor);
    }
    run.measure = TRY(as_usage(parse_measure(words, run.measure)));
    return Command(run);
}

}  // namespace perf
