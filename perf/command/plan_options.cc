// SPDX-License-Identifier: Apache-2.0
#include "perf/command/plan_options.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "perf/measure/schedule.h"
#include "perf/report/plan_file.h"

namespace perf {

namespace {
constexpr uint32_t kMaxDscp = 63;
constexpr uint32_t kEcnBits = 2;  // below it in the traffic class

void add_marks(CLI::App& app, PlanWords& words) {
    Marks& marks = words.plan.marks;
    auto* traffic_class =
        app.add_option("--tclass", marks.traffic_class, "traffic class of packets, 0 to 255");
    app.add_option("--dscp", words.dscp, "upper six bits of the traffic class, 0 to 63")
        ->excludes(traffic_class);
    app.add_option("--sl", marks.service_level, "service level of packets, 0 to 15");
    app.add_option("--flow-label", marks.flow_label, "flow label of packets, 0 to 1048575");
    app.add_option("--pkey-index", marks.pkey_index, "index of the partition in this side's table");
}

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
    add_marks(app, words);
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

// "auto" is 0, and a 0 that is written is an error.
Result<uint32_t> parse_positive(std::string_view option, std::string_view text, uint32_t limit) {
    const uint32_t count = text == "auto" ? 0 : TRY(parse_count(option, text, limit));
    if (text != "auto" && count == 0)
        return make_error(Code::Usage, fmt::format("{} 0 is too small", option));
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
            return make_error(Code::Usage,
                              fmt::format("{}: more than {} values", option, kMaxValues));
    }
    return counts;
}

Result<> parse_matrix(const PlanWords& words, Plan& plan) {
    plan.depths = TRY(count_list("--depth", words.depth, kMaxDepth));
    plan.batches = TRY(count_list("--batch", words.batch, kMaxDepth));
    plan.qps = TRY(count_list("--qps", words.qps, kMaxQps));
    if (std::ranges::find(plan.qps, 0U) != plan.qps.end())
        return make_error(Code::Usage, "--qps has no auto");
    plan.polls = TRY(parse_list(words.poll, parse_poll));
    return {};
}

Result<> parse_settings(const PlanWords& words, Plan& plan) {
    if (words.dscp != 0) {
        if (words.dscp > kMaxDscp)
            return make_error(Code::Usage,
                              fmt::format("--dscp {} is not from 0 to {}", words.dscp, kMaxDscp));
        plan.marks.traffic_class = words.dscp << kEcnBits;
    }
    plan.reads = TRY(parse_positive("--reads", words.reads, kMaxReads));
    plan.signal = TRY(parse_positive("--signal", words.signal, kMaxDepth));
    if (words.ring != "auto")
        plan.ring_bytes = TRY(parse_size(words.ring).context("--ring"));
    if (words.inline_bytes != "auto")
        plan.inline_bytes = TRY(parse_count("--inline", words.inline_bytes, kMaxInlineBytes));
    return {};
}

Result<Plan> plan_of(const PlanWords& words) {
    Plan plan = words.plan;
    plan.verbs = TRY(parse_list(words.verbs, parse_word<Verb>));
    plan.modes = TRY(parse_list(words.modes, parse_word<Mode>));
    plan.sizes = TRY(parse_sizes(words.sizes));
    if (!words.time.empty())
        plan.time_ms = TRY(parse_point_time(words.time));
    else if (plan.iterations == 0)
        plan.time_ms = kDefaultTimeMs;
    if (!words.interval.empty())
        plan.interval_ms = TRY(parse_time_ms(words.interval).context("--interval"));
    TRY(parse_matrix(words, plan));
    plan.direction = TRY(parse_word<Direction>(words.direction));
    plan.load = TRY(parse_load(words.load));
    plan.connect = words.cm ? Connect::Cm : Connect::Exchange;
    if (words.mtu != "auto")
        plan.mtu = TRY(parse_count("--mtu", words.mtu, 4096));
    plan.verify = TRY(parse_word<Verify>(words.verify));
    plan.orderings = TRY(parse_list(words.ordering, parse_word<Ordering>));
    TRY(parse_settings(words, plan));
    plan.transports = TRY(parse_list(words.transports, parse_word<Transport>));
    plan.seed = words.seed.value_or(random_seed());
    return plan;
}
}  // namespace

void add_plan_options(CLI::App& app, PlanWords& words) {
    const size_t others = app.get_options().size();
    add_words(app, words);
    const auto all = app.get_options();
    auto* file =
        app.add_option("--plan",
                       words.file,
                       "file with a JSON report or a plan, to use instead of the options above");
    for (size_t i = others; i < all.size(); ++i)
        file->excludes(all[i]);
}

Result<uint32_t> parse_count(std::string_view option, std::string_view text, uint32_t limit) {
    const auto value = number_of(text);
    if (!value || *value > limit)
        return make_error(
            Code::Usage,
            fmt::format(
                "{} '{}' is neither auto nor a number up to {}", option, printable(text), limit));
    return static_cast<uint32_t>(*value);
}

Result<Plan> parse_plan(const PlanWords& words) {
    Plan plan = TRY(words.file.empty() ? plan_of(words) : read_plan(words.file));
    TRY(check_plan(plan));
    return plan;
}

}  // namespace perf
