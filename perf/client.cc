// SPDX-License-Identifier: Apache-2.0
#include "perf/client.h"

#include <fmt/format.h>
#include <poll.h>

#include "perf/tcp.h"
#include "perf/workloads/integrity.h"

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::Result;

namespace {
constexpr auto kIdleWatch = std::chrono::milliseconds(100);

// What did not arrive was not transferred, however fast it was sent; when it was lost, in the
// warm-up or later, nobody knows.
void account_loss(Bandwidth& bandwidth, uint64_t sent, uint64_t lost) {
    bandwidth.lost = lost;
    if (lost != 0)
        bandwidth.messages =
            static_cast<uint64_t>(static_cast<double>(bandwidth.messages) *
                                  static_cast<double>(sent - lost) / static_cast<double>(sent));
}
}  // namespace

Result<Client> Client::start(Verbs& verbs, Control control, const SideOptions& options) {
    Client client(std::move(control), options.timeout);
    const Hello own = own_hello();
    const Json hello =
        TRY(client.control_.ask(message("hello", to_json(own)), "hello", client.step()));
    client.server_ = TRY(parse_hello(hello));
    TRY(check_compatible(own, client.server_));
    std::vector<Address> sources;
    if (const auto local = local_address(client.control_.fd()))
        sources.push_back(*local);
    client.device_ = TRY(open_best_device(verbs, options.wish, sources));
    const Json device = TRY(client.control_.ask(
        message("device", to_json(client.device_.info)), "device", client.step()));
    client.peer_ = TRY(parse_device_info(device));
    return client;
}

Result<> Client::watch_idle() {
    account_.begin_idle();
    // The server has nothing to say now: what wakes us is its end, which the next step reports.
    const auto deadline = base::Deadline::in(kIdleWatch);
    auto woken = wait_ready(control_.fd(), POLLIN, deadline, control_.stop());
    if (!woken && woken.error().code != Code::Timeout)
        return woken;
    account_.end_idle();
    return {};
}

Result<PointResult> Client::run(const Point& wanted) {
    PointResult result;
    result.point = wanted;
    result.point.poll = resolve_poll(wanted.poll, device_);
    const std::string name = describe(wanted);
    Lane lane = TRY(open(wanted, result).context("opening " + name));
    if (wanted.verify == Verify::Full)
        TRY(verify(lane, result.checked).context("verifying " + name));
    if (!result.checked.wrong)
        TRY(measure(lane, result).context("measuring " + name));
    // The server lets go first: then nothing of ours is still on its way when our side goes.
    TRY(control_.ask(message("close"), "closed", step()).context("closing " + name));
    return result;
}

Result<Lane> Client::open(const Point& wanted, PointResult& result) {
    Lane lane = TRY(Lane::create(device_, result.point, Side::Client));
    const Json frame = TRY(control_.ask(
        message("open", {{"point", to_json(wanted)}, {"endpoint", to_json(lane.endpoint())}}),
        "opened",
        step()));
    const Opened opened = TRY(parse_opened(frame));
    if (opened.mtu > device_.info.active_mtu)
        return make_error(Code::BadInput, "the server chose a path MTU that our port cannot do");
    TRY(lane.connect(peer_, opened.endpoint, opened.mtu));
    result.mtu = opened.mtu;
    result.server_poll = opened.poll;
    result.inline_bytes = lane.inline_bytes();
    return lane;
}

Result<> Client::verify(Lane& lane, Checked& total) {
    for (uint64_t number = 0; number < kVerifyRounds && !total.wrong; ++number)
        add(total, TRY(verify_round(lane, number)));
    return {};
}

Result<Checked> Client::verify_round(Lane& lane, uint64_t number) {
    const Json round = {{"round", number}};
    if (fetches(lane.point().verb)) {
        TRY(control_.ask(message("fill", round), "filled", step()));
        Checked checked = TRY(fetch_round(lane, waiting(lane), {number, Side::Server}));
        if (is_atomic(lane.point().verb) && !checked.wrong)
            add(checked,
                TRY(parse_checked(
                    TRY(control_.ask(message("verify", round), "verified", step())))));
        return checked;
    }
    TRY(control_.send(message("verify", round), step()));
    TRY(emit_round(lane, waiting(lane), {number, Side::Client}));
    Checked checked = TRY(parse_checked(TRY(control_.expect("verified", step()))));
    if (!is_ping_pong(lane.point()) || checked.wrong)
        return checked;
    TRY(control_.send(message("emit", round), step()));
    add(checked, TRY(collect_round(lane, waiting(lane), {number, Side::Server})));
    TRY(control_.expect("emitted", step()));
    return checked;
}

Result<> Client::measure(Lane& lane, PointResult& result) {
    lane.plain_messages();
    TRY(control_.ask(message("start"), "started", step()));
    account_.begin(device_.info);
    uint64_t messages = 0;
    TRY(measure_mode(lane, result, messages));
    result.usage.client = account_.end();
    result.usage.payload_bytes = messages * lane.point().size;
    const uint64_t lost = TRY(finish(lane, messages, result));
    if (result.bandwidth)
        account_loss(*result.bandwidth, messages, lost);
    if (result.bandwidth && result.bandwidth->elapsed_ns != 0)
        result.percent_of_limit = share_of_limit(*result.bandwidth, lane.point(), result.mtu);
    return {};
}

Result<> Client::measure_mode(Lane& lane, PointResult& result, uint64_t& messages) {
    if (lane.point().mode == Mode::Latency) {
        const Latency latency = TRY(measure_latency(lane, waiting(lane)));
        result.latency = summarize(latency.histogram);
        messages = latency.messages + latency.warmup_messages;
        return {};
    }
    result.bandwidth = TRY(measure_bandwidth(lane, waiting(lane)));
    messages = result.bandwidth->messages + result.bandwidth->warmup_messages;
    return {};
}

std::optional<double> Client::share_of_limit(const Bandwidth& bandwidth,
                                             const Point& point,
                                             uint32_t mtu) const {
    const auto transfer = transfer_of(point);
    if (!transfer)
        return std::nullopt;
    const double bytes = static_cast<double>(bandwidth.messages) * point.size;
    return percent_of_limit(wire_between(device_.info, peer_, mtu),
                            *transfer,
                            bytes * 1e9 / static_cast<double>(bandwidth.elapsed_ns));
}

Result<uint64_t> Client::finish(const Lane& lane, uint64_t messages, PointResult& result) {
    const Json frame =
        TRY(control_.ask(message("stop", {{"messages", messages}}), "stopped", step()));
    const auto seen = TRY(base::required<uint64_t>(frame, "messages"));
    if (seen > messages || (seen != messages && is_reliable(lane.point().transport)))
        return make_error(Code::Internal,
                          fmt::format("{} messages were sent, the server saw {}", messages, seen));
    result.usage.server = TRY(parse_usage(frame));
    return messages - seen;
}

Waiting Client::waiting(const Lane& lane) {
    return {.control = &control_, .patience = timeout_, .poll = lane.point().poll};
}

}  // namespace perf
