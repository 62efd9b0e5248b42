// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>

#include <CLI/CLI.hpp>

#include "perf/measure/schedule.h"
#include "perf/suites/kv/kv.h"

namespace perf::kv {
void add_options(CLI::App& app, Words& words) {
    app.add_option("--keys", words.keys, "number of keys in the table")->capture_default_str();
    app.add_option("--value", words.value, "bytes of each value, up to 4096")
        ->capture_default_str();
    app.add_option("--zipf", words.skew, "skew of the keys that are asked for; 0: uniform")
        ->capture_default_str();
    app.add_option("--time", words.time, "time of each trial")->capture_default_str();
    app.add_option("--reps", words.reps, "trials of each method, in turn")->capture_default_str();
    app.add_option("--poll", words.poll, "auto, spin, yield, event, hybrid or hybrid:Nus")
        ->capture_default_str();
    app.add_option("--seed", words.seed, "seed of values, hash and draws (default: random)");
}

Result<Plan> parse_plan(const Words& words, uint64_t seed) {
    Plan plan;
    plan.shape = {.keys = words.keys,
                  .value = TRY(parse_size(words.value).context("--value")),
                  .seed = words.seed.value_or(seed)};
    TRY(check_limits(plan.shape));
    // Not a number is neither.
    if (!(words.skew >= 0 && words.skew <= kMaxSkew))
        return make_error(Code::Usage, "--zipf {} is not from 0 to {}", words.skew, kMaxSkew);
    plan.skew = words.skew;
    plan.time_ms = TRY(parse_time_ms(words.time));
    plan.reps = words.reps;
    TRY(check_reps(plan.reps, 2));
    plan.poll = TRY(parse_poll(words.poll));
    return plan;
}
}  // namespace perf::kv

namespace perf {

namespace {
// Both methods in each repetition, every second time the other way round: what drifts with time
// drifts away.
Result<> exercise(kv::Exercise& exercise, const Surroundings& around, kv::Findings& findings) {
    uint32_t version = 0;
    for (uint32_t rep = 1; rep <= findings.plan.reps; ++rep) {
        std::array order = {kv::Method::Send, kv::Method::Read};
        if (rep % 2 == 0)
            std::ranges::reverse(order);
        for (const kv::Method method : order) {
            findings.trials.push_back(TRY(exercise.run(method, rep, ++version)));
            print(around.err, kv::trial_line(findings.trials.back()));
            if (findings.trials.back().wrong)
                return {};
        }
    }
    return {};
}

Result<> measure_kv(const LookOptions& look, const Surroundings& around, kv::Findings& findings) {
    auto clients = TRY(connect_clients({&look.peer, 1}, look.port, look.side, around));
    Client& client = clients.front();
    findings.server = client.server();
    findings.client_device = client.device().info;
    findings.server_device = client.server_device();
    TRY(client.watch_idle());
    const auto opened = TRY(kv::Exercise::open(client, findings.plan, look.side.timeout)
                                .context("opening the key-value exercise"));
    findings.agreed = opened->agreed();
    TRY(exercise(*opened, around, findings).context("measuring GETs"));
    return opened->close();
}
}  // namespace

Exit kv_exercise(const LookOptions& look, const kv::Plan& plan, const Surroundings& around) {
    Document document{.kind = "kv", .json = look.json, .around = around};
    kv::Findings findings;
    findings.plan = plan;
    const auto done = measure_kv(look, around, findings);
    // What was measured before an error is worth having.
    if (!findings.trials.empty())
        document.say(kv::table_of(findings));
    document.members = to_json(findings);
    document.exit = findings.corrupt() ? Exit::Corruption : Exit::Ok;
    return document.conclude(done);
}

const Suite kKv = {
    .name = "kv",
    .help = "measure a key-value table: GET by SEND against GET by one-sided READ",
    .host = "address or name of a server",
    .port = "TCP port",
    .declare = [](CLI::App& app) -> std::function<Result<SuiteRun>()> {
        const auto words = std::make_shared<kv::Words>();
        kv::add_options(app, *words);
        return [words]() -> Result<SuiteRun> {
            const kv::Plan plan = TRY(kv::parse_plan(*words, random_seed()));
            return SuiteRun([plan](const LookOptions& look, const Surroundings& around) {
                return kv_exercise(look, plan, around);
            });
        };
    },
    .served = &kv::kServedExercise,
};

}  // namespace perf
