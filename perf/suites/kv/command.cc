// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>

#include <CLI/CLI.hpp>

#include "perf/suites/kv/kv.h"

namespace perf::kv {

std::function<Result<Plan>()> declare_plan(CLI::App& app) {
    struct Words {
        Plan plan;  // of options that are plain numbers
        std::string value = "64";
        std::string time = "500ms";
        std::string poll = "auto";
        std::optional<uint64_t> seed;
    };

    const auto words = std::make_shared<Words>();
    const auto add = [&](const char* name, auto& value, const char* help) {
        app.add_option(name, value, help)->capture_default_str();
    };
    add("--keys", words->plan.shape.keys, "number of keys in the table");
    add("--value", words->value, "bytes of each value, up to 4096");
    add("--zipf", words->plan.skew, "skew of the keys that are asked for; 0: uniform");
    add("--time", words->time, "time of each trial");
    add("--reps", words->plan.reps, "trials of each method, in turn");
    add("--poll", words->poll, "auto, spin, yield, event, hybrid or hybrid:Nus");
    app.add_option("--seed", words->seed, "seed of values, hash and draws (default: random)");
    return [words]() -> Result<Plan> {
        Plan plan = words->plan;
        plan.shape.value = TRY(parse_size(words->value).context("--value"));
        plan.shape.seed = words->seed.value_or(random_seed());
        TRY(check_limits(plan.shape));
        // Not a number is neither.
        if (!(plan.skew >= 0 && plan.skew <= kMaxSkew))
            return make_error(Code::Usage, "--zipf {} is not from 0 to {}", plan.skew, kMaxSkew);
        plan.time_ms = TRY(parse_time_ms(words->time));
        TRY(check_reps(plan.reps, 2));
        plan.poll = TRY(parse_poll(words->poll));
        return plan;
    };
}

// ---- report -------------------------------------------------------------------------------------
namespace {
struct Column {
    std::string_view name;  // with its unit
    std::string_view head;
    double scale;  // from the unit of the name to that of the head
    int digits;
    std::optional<double> (*value)(const Trial& trial);
};

std::optional<double> rate(const Trial& trial) {
    return static_cast<double>(trial.gets) / (static_cast<double>(trial.elapsed_ns) / 1e9);
}

template <auto kTime>  // of LatencySummary
std::optional<double> latency(const Trial& trial) {
    return static_cast<double>(trial.latency.*kTime);
}

template <auto kSide>  // of PointUsage
std::optional<double> cores(const Trial& trial) {
    return busy_cores(trial.usage.*kSide);
}

std::optional<double> reads_per_get(const Trial& trial) {
    if (trial.method != Method::Read)
        return std::nullopt;
    return static_cast<double>(trial.reads) / static_cast<double>(trial.gets);
}

constexpr Column kColumns[] = {
    {"gets_per_s", "gets/s", 1, 0, rate},
    {"p50_ns", "p50 us", 1e-3, 2, latency<&LatencySummary::p50_ns>},
    {"p99_ns", "p99 us", 1e-3, 2, latency<&LatencySummary::p99_ns>},
    {"client_cores", "client cores", 1, 2, cores<&PointUsage::client>},
    {"server_cores", "server cores", 1, 2, cores<&PointUsage::server>},
    {"reads_per_get", "reads/get", 1, 2, reads_per_get},
};

std::vector<double> sample_of(const Findings& findings, Method method, const Column& column) {
    std::vector<double> sample;
    for (const Trial& trial : findings.trials) {
        if (trial.method != method || trial.wrong)
            continue;
        if (const auto value = column.value(trial))
            sample.push_back(*value);
    }
    return sample;
}

// GETs per second by READ over those by SEND. Repetitions are pairs; only the last may lack one.
RatioEstimate read_over_send(const Findings& findings) {
    return ratio_of_pairs(sample_of(findings, Method::Send, kColumns[0]),
                          sample_of(findings, Method::Read, kColumns[0]));
}

std::string cell(const Findings& findings, Method method, const Column& column) {
    const MedianEstimate estimate = estimate_median(sample_of(findings, method, column));
    if (estimate.n == 0)
        return "-";
    const auto number = [&](double value) {
        return fmt::format("{:.{}f}", value * column.scale, column.digits);
    };
    if (!estimate.interval)
        return number(estimate.median);
    return fmt::format("{} ({} to {})",
                       number(estimate.median),
                       number(estimate.interval->low),
                       number(estimate.interval->high));
}

Json json_of(const Trial& trial) {
    Json out = {{"method", name_of(trial.method)}, {"rep", trial.rep}, {"data_ok", !trial.wrong}};
    if (trial.wrong) {
        out["wrong"] = {{"key", trial.wrong->key},
                        {"version", trial.wrong->version},
                        {"what", trial.wrong->what}};
        return out;
    }
    out["gets"] = trial.gets;
    out["reads"] = trial.reads;
    out["window_s"] = static_cast<double>(trial.elapsed_ns) / 1e9;
    for (const Column& column : kColumns) {
        const auto value = column.value(trial);
        out[std::string(column.name)] = value ? Json(*value) : Json();
    }
    out["max_ns"] = trial.latency.max_ns;
    describe(out, trial.usage, std::nullopt);
    return out;
}

Json summary_of(const Findings& findings, Method method) {
    Json out = Json::object();
    for (const Column& column : kColumns) {
        if (const auto found = estimate_median(sample_of(findings, method, column)); found.n != 0)
            out[std::string(column.name)] = {
                {"median", found.median}, {"ci95", perf::to_json(found.interval)}, {"n", found.n}};
    }
    return out;
}

// Both methods in each repetition, every second time the other way round: what drifts with time
// drifts away.
Result<> measure(Exercise& exercise, const Document& document, Findings& findings) {
    uint32_t version = 0;
    for (uint32_t rep = 1; rep <= findings.plan.reps; ++rep) {
        std::array order = {Method::Send, Method::Read};
        if (rep % 2 == 0)
            std::ranges::reverse(order);
        for (const Method method : order) {
            findings.trials.push_back(TRY(exercise.run(method, rep, ++version)));
            document.say(trial_line(findings.trials.back()));
            if (findings.trials.back().wrong)
                return {};
        }
    }
    return {};
}
}  // namespace

std::string trial_line(const Trial& trial) {
    const std::string head = fmt::format("{:<5} rep {:<4}", name_of(trial.method), trial.rep);
    if (trial.wrong)
        return fmt::format("{}WRONG value of key {} at version {}: {}\n",
                           head,
                           trial.wrong->key,
                           trial.wrong->version,
                           trial.wrong->what);
    return fmt::format("{}{:>10.0f} gets/s  p50 {:.2f} us  p99 {:.2f} us{}\n",
                       head,
                       *rate(trial),
                       static_cast<double>(trial.latency.p50_ns) / 1e3,
                       static_cast<double>(trial.latency.p99_ns) / 1e3,
                       remarks(trial.usage, std::nullopt));
}

std::string table_of(const Findings& findings) {
    const Plan& plan = findings.plan;
    std::string out = fmt::format(
        "\n{} keys, values of {} bytes, zipf {}; median of {} repetitions (95 % interval)\n{:<6}",
        plan.shape.keys,
        plan.shape.value,
        plan.skew,
        plan.reps,
        "get by");
    for (const Column& column : kColumns)
        out += fmt::format("  {:>24}", column.head);
    for (const Method method : {Method::Send, Method::Read}) {
        out += fmt::format("\n{:<6}", name_of(method));
        for (const Column& column : kColumns)
            out += fmt::format("  {:>24}", cell(findings, method, column));
    }
    const RatioEstimate ratio = read_over_send(findings);
    out += fmt::format("\nread/send, gets per second: {:.3f}", ratio.ratio);
    if (ratio.interval)
        out += fmt::format(" ({:.3f} to {:.3f})", ratio.interval->low, ratio.interval->high);
    return out + fmt::format(": {}\n", name_of(judge(ratio, Better::Higher)));
}

Json to_json(const Findings& findings) {
    const Plan& plan = findings.plan;
    const RatioEstimate ratio = read_over_send(findings);
    Json out = {{"plan",
                 {{"keys", plan.shape.keys},
                  {"value_bytes", plan.shape.value},
                  {"slots", plan.shape.slots()},
                  {"slot_bytes", plan.shape.slot_bytes()},
                  {"zipf", plan.skew},
                  {"time_ms", plan.time_ms},
                  {"reps", plan.reps},
                  {"seed", plan.shape.seed}}},
                {"env", Json()},
                {"results", Json::array()},
                {"summary",
                 {{"send", summary_of(findings, Method::Send)},
                  {"read", summary_of(findings, Method::Read)},
                  {"read_over_send",
                   {{"ratio", ratio.ratio},
                    {"ci95", perf::to_json(ratio.interval)},
                    {"verdict", perf::name_of(judge(ratio, Better::Higher))}}}}}};
    if (findings.pair) {
        out["env"] = sides_json(own_hello(), *findings.pair);
        out["env"].update(findings.agreed);
    }
    for (const Trial& trial : findings.trials)
        out["results"].push_back(json_of(trial));
    return out;
}

Result<> run_exercise(const LookOptions& look, const Plan& plan, Document& document) {
    Findings findings{.plan = plan};
    const auto done = [&]() -> Result<> {
        auto clients = TRY(connect_clients({&look.peer, 1}, look.port, look.side, document.around));
        perf::Client& client = clients.front();
        const auto near = stay_on(client.device().near);  // and so its buffers and its thread
        findings.pair = pairing_of(client);
        document.say(sides_text(own_hello(), *findings.pair));
        TRY(client.watch_idle());
        const auto opened = TRY(Exercise::open(client, plan, look.side.timeout)
                                    .context("opening the key-value exercise"));
        findings.agreed = opened->agreed();
        TRY(measure(*opened, document, findings).context("measuring GETs"));
        return opened->close();
    }();
    // What was measured before an error is worth having.
    if (!findings.trials.empty()) {
        document.say(table_of(findings));
        document.exit = findings.trials.back().wrong ? Exit::Corruption : Exit::Ok;
    }
    document.members = to_json(findings);
    return done;
}

}  // namespace perf::kv

namespace perf {

extern const Suite kKv = {
    .name = "kv",
    .help = "measure a key-value table: GET by SEND against GET by one-sided READ",
    .host = "address or name of a server",
    .port = "TCP port",
    .declare = [](CLI::App& app) -> std::function<Result<SuiteRun>()> {
        return [read = kv::declare_plan(app)]() -> Result<SuiteRun> {
            const kv::Plan plan = TRY(read());
            return SuiteRun([plan](const LookOptions& look, Document& document) {
                return kv::run_exercise(look, plan, document);
            });
        };
    },
    .served = &kv::kServedExercise,
};

}  // namespace perf
