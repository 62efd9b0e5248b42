// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/isolate/isolate.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/report/document.h"
#include "perf/system/tcp.h"

namespace perf {

namespace {
ptrdiff_t count(const Trials& trials, IsolationVerdict verdict) {
    return std::ranges::count_if(trials.done,
                                 [&](const Trial& t) { return t.outcome.verdict == verdict; });
}

Result<Arena> enter(const LookOptions& look, const Surroundings& around) {
    auto fd = TRY(connect_to(look.peer, look.port, Deadline::in(look.side.timeout), around.stop));
    return Arena::enter(around.verbs, Control(std::move(fd), around.stop), look.side);
}
}  // namespace

Trials try_isolation(Arena& arena) {
    Trials trials;
    auto done = [&]() -> Result<> {
        for (const IsolationCheck& check : isolation_checks())
            trials.done.push_back(
                {&check, TRY(check.run(arena).context("check " + std::string(check.id)))});
        return arena.leave();
    }();
    if (!done)
        trials.error = std::move(done).error();
    return trials;
}

bool any_violation(const Trials& trials) {
    return count(trials, IsolationVerdict::Fail) != 0;
}

std::string to_text(const Trials& trials) {
    std::string out;
    for (const auto& [check, outcome] : trials.done) {
        out += fmt::format(
            "{:<14} {:<16} {}\n", name_of(outcome.verdict), check->id, outcome.observed);
        if (outcome.verdict == IsolationVerdict::Fail)
            out += fmt::format("{:<14} {:<16} expected: {}\n", "", "", check->expected);
        if (!outcome.fix.empty())
            out += fmt::format("{:<14} {:<16} -> {}\n", "", "", outcome.fix);
    }
    return out + fmt::format("{} failed, {} findings, {} passed, {} not applicable\n",
                             count(trials, IsolationVerdict::Fail),
                             count(trials, IsolationVerdict::Finding),
                             count(trials, IsolationVerdict::Pass),
                             count(trials, IsolationVerdict::NotApplicable));
}

Json to_json(const Trials& trials, const std::string& peer) {
    Json out = {{"peer", peer}, {"violated", any_violation(trials)}, {"checks", Json::array()}};
    for (const auto& [check, outcome] : trials.done)
        out["checks"].push_back({{"id", check->id},
                                 {"expected", check->expected},
                                 {"observed", outcome.observed},
                                 {"verdict", name_of(outcome.verdict)},
                                 {"fix", outcome.fix}});
    return out;
}

Exit isolate(const LookOptions& look, const Surroundings& around) {
    Document document{.kind = "isolate"};
    auto arena = enter(look, around);
    const Trials trials =
        arena ? try_isolation(*arena) : Trials{.done = {}, .error = std::move(arena).error()};
    if (!trials.done.empty())
        print(look.json == "-" ? around.err : around.out, to_text(trials));
    document.members = to_json(trials, look.peer);
    return conclude(document,
                    trials.error ? Result<>(*trials.error) : Result<>(),
                    any_violation(trials) ? Exit::Isolation : Exit::Ok,
                    look.json,
                    around);
}

const Suite kIsolate = {
    .name = "isolate",
    .help = "try what isolation must prevent, against a server that agreed to it",
    .host = "address or name of the server",
    .port = "TCP port",
    .run = isolate,
    .served = &kServedIsolation,
};

}  // namespace perf
