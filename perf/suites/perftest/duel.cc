// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/duel.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/suites/perftest/output.h"
#include "perf/suites/perftest/service.h"

namespace perf::perftest {

using base::Code;
using base::Deadline;
using base::Json;
using base::make_error;
using base::Result;

namespace {
constexpr int kAttempts = 3;  // for one run of perftest

Point point_of(const Plan& plan, Verb verb, Mode mode, uint32_t size) {
    const bool timed = mode == Mode::Bandwidth;
    const perf::Plan one{.verbs = {verb},
                         .modes = {mode},
                         .sizes = {size},
                         .iterations = timed ? 0 : plan.iterations,
                         .time_ms = timed ? plan.seconds * 1000 : 0,
                         // As perftest does, which knows no other way over all verbs.
                         .polls = {{.mode = plan.defaults ? PollMode::Auto : PollMode::Spin}},
                         .verify = Verify::Off,
                         // perftest has one buffer, and of small messages a page.
                         .ring_bytes = plan.defaults ? 0 : std::max(size, uint32_t{kPage}),
                         .seed = plan.seed};
    return expand(one).front();
}

bool is_narrow(const RatioEstimate& ratio) {
    return ratio.interval && ratio.interval->low >= ratio.ratio * (1 - kNarrow) &&
           ratio.interval->high <= ratio.ratio * (1 + kNarrow);
}

Result<> check_consent_of(const Hello& server) {
    if (can(server, kCapability))
        return {};
    return make_error(Code::BadInput, "the server does not start perftest for clients")
        .advise("start it with: rdma-perf serve --allow-perftest --bind ADDRESS");
}

base::Error program_error(const std::string& name, std::string_view where, const Ended& ended) {
    return make_error(
        Code::Unsupported,
        fmt::format("{} failed with {} {}: {}", name, ended.status, where, ended.last_line));
}

// Which of the two failed first nobody knows: both are named.
Result<> check_ends(const Trial& trial, const Ended& here, const Ended& there) {
    const std::string name = program_of(trial.verb, trial.mode);
    Result<> first = here.status == 0 ? Result<>() : program_error(name, "on this side", here);
    Result<> second = there.status == 0 ? Result<>() : program_error(name, "at the server", there);
    return join(std::move(first), std::move(second));
}
}  // namespace

std::vector<Point> points_of(const Plan& plan) {
    std::vector<Point> points;
    for (const Verb verb : plan.verbs) {
        for (const Mode mode : plan.modes) {
            for (const uint32_t size : plan.sizes)
                points.push_back(point_of(plan, verb, mode, size));
        }
    }
    return points;
}

Trial trial_of(const Point& point) {
    return {.verb = point.verb,
            .mode = point.mode,
            .size = point.size,
            .seconds = point.time_ms / 1000,
            .iterations = static_cast<uint32_t>(point.iterations),
            .settings = std::nullopt};
}

const Metric& metric_of(const Cell& cell) {
    const std::string_view name =
        cell.point.mode == Mode::Bandwidth ? "bandwidth_bytes_per_s" : "p50_ns";
    return *std::ranges::find(all_metrics(), name, &Metric::name);
}

Result<Duel> Duel::enter(Client& client,
                         const Plan& plan,
                         const Folders& folders,
                         std::chrono::milliseconds timeout) {
    TRY(check_consent_of(client.server()));
    TRY(check_device(client.device().info));
    Duel duel(client, plan, folders, timeout);
    duel.own_ = TRY(probe(folders, client.control().stop()));
    const auto patience = timeout + kProbeTime;
    duel.server_ = TRY(parse_probed(TRY(client.control().ask(
        message("perftest_probe"), "perftest_probed", Deadline::in(patience)))));
    return duel;
}

Result<Cell> Duel::run(const Point& point) {
    Point verified = point;
    verified.verify = Verify::Edges;
    const PointResult checked = TRY(client_->run(verified));
    Cell cell{.point = point, .trial = trial_for(checked), .poll = checked.point.poll};
    cell.wrong = checked.checked.wrong.has_value();
    while (!cell.wrong && cell.pairs.size() < plan_.most_pairs) {
        cell.pairs.push_back(TRY(run_pair(cell)));
        if (cell.pairs.size() < plan_.least_pairs)
            continue;
        cell.ratio = estimate_paired_ratio(cell.pairs);
        if (is_narrow(cell.ratio))
            break;
    }
    cell.verdict = judge(cell.ratio, metric_of(cell).better);
    return cell;
}

Trial Duel::trial_for(const PointResult& verified) const {
    const Point& point = verified.point;
    Trial trial = trial_of(point);
    if (plan_.defaults)
        return trial;
    const uint32_t reads =
        std::min(client_->device().info.initiator_depth, client_->server_device().responder_depth);
    trial.settings = {.mtu = verified.mtu,
                      .depth = point.depth,
                      .batch = point.batch,
                      .inline_bytes = std::min(verified.inline_bytes, kMaxInline),
                      .reads = std::clamp(reads, 1U, 255U),
                      .immediate = own_.immediate && server_.immediate};
    return trial;
}

Result<RunPair> Duel::run_pair(Cell& cell) {
    RunPair pair;
    const bool ours_first = cell.pairs.size() % 2 == 0;
    if (ours_first)
        pair.b = TRY(ours(cell));
    pair.a = TRY(theirs(cell));
    if (!ours_first)
        pair.b = TRY(ours(cell));
    return pair;
}

Result<double> Duel::ours(const Cell& cell) {
    const auto value = metric_of(cell).value(TRY(client_->run(cell.point)));
    if (value && *value > 0)
        return *value;
    return make_error(Code::Internal, describe(cell.point) + " brought no result")
        .advise("measure for longer: --time, --iterations");
}

Result<double> Duel::theirs(Cell& cell) {
    for (int attempt = 1;; ++attempt) {
        const Bout bout = TRY(fight(cell.trial));
        const Ended here{.status = bout.here.status, .last_line = last_line_of(bout.here)};
        Result<> done = check_ends(cell.trial, here, bout.there);
        if (done) {
            auto value = parse_result(bout.here.out, cell.trial);
            if (value || value.error().code != Code::Unavailable)
                return value;
            done = std::move(value).error();
        }
        if (attempt == kAttempts)
            return std::move(done).error();
        ++cell.failures;
        cell.failure = done.error().message();
    }
}

Result<Duel::Bout> Duel::fight(const Trial& trial) {
    Control& control = client_->control();
    const auto port = TRY(parse_started(TRY(control.ask(message("perftest_start", to_json(trial)),
                                                        "perftest_started",
                                                        Deadline::in(2 * timeout_)))));
    auto outcome = run_program(trial, port);
    if (!outcome && outcome.error().code == Code::Unavailable) {
        // It said why, or is gone without a word.
        TRY(control.expect("perftest_ended", Deadline::in(timeout_)));
        return outcome.error();
    }
    Bout bout;
    bout.here = TRY(std::move(outcome));
    bout.there = TRY(parse_ended(
        TRY(control.ask(message("perftest_end"), "perftest_ended", Deadline::in(2 * timeout_)))));
    return bout;
}

Result<Program::Outcome> Duel::run_program(const Trial& trial, uint16_t port) {
    const Control& control = client_->control();
    const End end = end_of(
        Side::Client, client_->device().info, server_address(control.fd(), Side::Client), port);
    Program program =
        TRY(Program::start(folders_, program_of(trial.verb, trial.mode), arguments_of(trial, end)));
    return program.finish(Deadline::in(length_of(trial) + timeout_), control.stop(), control.fd());
}

}  // namespace perf::perftest
