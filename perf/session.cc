// SPDX-License-Identifier: Apache-2.0
#include "perf/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/tcp.h"
#include "perf/workloads/bandwidth.h"
#include "perf/workloads/integrity.h"
#include "perf/workloads/latency.h"

namespace perf {

using base::Code;
using base::Deadline;
using base::Json;
using base::make_error;
using base::Result;

namespace {
constexpr auto kIdleBetweenPoints = std::chrono::seconds(30);

// The best path MTU of both ports, or the wish if both can do it.
Result<uint32_t> agree_mtu(uint32_t wish, const DeviceInfo& own, const DeviceInfo& peer) {
    const uint32_t best = std::min(own.active_mtu, peer.active_mtu);
    if (wish <= best)
        return wish == 0 ? best : wish;
    return make_error(Code::Unsupported,
                      fmt::format("path MTU {} is asked for; the ports allow {} (server {}) and {} "
                                  "(client {})",
                                  wish,
                                  own.active_mtu,
                                  own.device,
                                  peer.active_mtu,
                                  peer.device))
        .advise("raise the MTU of the netdevs: path MTU 4096 needs 4200 there");
}

// Both sides must speak the same kind of address, or no packet would ever arrive.
Result<> check_same_family(const DeviceInfo& own, const DeviceInfo& peer) {
    if (own.gid_type == peer.gid_type && own.gid.is_v4() == peer.gid.is_v4())
        return {};
    return make_error(Code::Unsupported,
                      fmt::format("the client uses GID {} ({}), this side only has {} ({})",
                                  peer.gid.text(),
                                  name_of(peer.gid_type),
                                  own.gid.text(),
                                  name_of(own.gid_type)))
        .advise(
            "run against an address of the RDMA network, or pass --device and --gid on both "
            "sides");
}

Result<Round> parse_round(const Json& frame, Side from) {
    const auto number = TRY(base::required<uint32_t>(frame, "round"));
    return Round{number, from};
}
}  // namespace

PollMode resolve_poll(PollMode wish, const Device&) {
    // A software device needs the core that a spinning loop would hold; giving it away after each
    // empty poll costs a hardware device's user little.
    return wish == PollMode::Auto ? PollMode::Yield : wish;
}

const Session::Step Session::kSteps[] = {
    {"hello", State::New, &Session::on_hello},
    {"device", State::Greeted, &Session::on_device},
    {"open", State::Ready, &Session::on_open},
    {"verify", State::Open, &Session::on_verify},
    {"fill", State::Open, &Session::on_fill},
    {"emit", State::Open, &Session::on_emit},
    {"start", State::Open, &Session::on_start},
    {"stop", State::Open, &Session::on_stop},
    {"close", State::Open, &Session::on_close},
};

Session::Session(Verbs& verbs, Control control, SideOptions options)
    : verbs_(&verbs), control_(std::move(control)), options_(std::move(options)) {}

Result<> Session::run() {
    for (;;) {
        auto frame = control_.receive(idle());
        if (!frame && frame.error().code == Code::Unavailable && state_ == State::Ready)
            return {};
        auto done = frame ? handle(*frame) : Result<>(std::move(frame).error());
        if (done)
            continue;
        // The client may be gone, which is why we are here: then this goes nowhere.
        (void)control_.send(error_message(done.error()), Deadline::in(std::chrono::seconds(1)));
        return std::move(done).context(where());
    }
}

Result<> Session::handle(const Json& frame) {
    const auto type = TRY(base::required<std::string>(frame, "type"));
    const auto* step = std::ranges::find(kSteps, type, &Step::type);
    if (step == std::end(kSteps))
        return make_error(Code::BadInput,
                          "control message '" + base::printable(type, 40) + "' is not known");
    if (step->due != state_)
        return make_error(Code::BadInput, "control message '" + type + "' is not due");
    return (this->*step->handler)(frame);
}

Result<> Session::on_hello(const Json& frame) {
    const Hello own = own_hello();
    TRY(check_compatible(own, TRY(parse_hello(frame))));
    state_ = State::Greeted;
    return reply("hello", to_json(own));
}

Result<> Session::on_device(const Json& frame) {
    peer_ = TRY(parse_device_info(frame));
    // Towards the client's GID rather than its control connection: that one may be another network.
    std::vector<Address> sources;
    if (!peer_.gid.is_link_local()) {
        if (const auto source = route_source(peer_.gid))
            sources.push_back(*source);
    }
    if (const auto local = local_address(control_.fd()))
        sources.push_back(*local);
    device_ = TRY(open_best_device(*verbs_, options_.wish, sources));
    TRY(check_same_family(device_->info, peer_));
    state_ = State::Ready;
    account_.begin_idle();  // the client now measures its own, then opens the first point
    return reply("device", to_json(device_->info));
}

Result<> Session::on_open(const Json& frame) {
    account_.end_idle();
    const auto point = frame.find("point");
    const auto endpoint = frame.find("endpoint");
    if (point == frame.end() || endpoint == frame.end())
        return make_error(Code::BadInput, "'open' needs 'point' and 'endpoint'");
    Point wanted = TRY(parse_point(*point));
    const Endpoint remote = TRY(parse_endpoint(*endpoint));
    wanted.poll = resolve_poll(wanted.poll, *device_);
    const uint32_t mtu = TRY(agree_mtu(wanted.mtu, device_->info, peer_));
    lane_ = TRY(Lane::create(*device_, wanted, Side::Server));
    TRY(lane_->connect(peer_, remote, mtu));
    state_ = State::Open;
    return reply("opened",
                 to_json(Opened{.endpoint = lane_->endpoint(),
                                .mtu = mtu,
                                .poll = wanted.poll,
                                .inline_bytes = lane_->inline_bytes()}));
}

Result<> Session::on_verify(const Json& frame) {
    if (lane_->point().verb == Verb::Read)
        return make_error(Code::BadInput, "'verify' is not for read");
    const Round round = TRY(parse_round(frame, Side::Client));
    if (is_atomic(lane_->point().verb))
        return reply("verified", to_json(check_ring(*lane_, round)));
    const Checked checked = TRY(collect_round(*lane_, waiting(), round));
    return reply("verified", to_json(checked));
}

Result<> Session::on_fill(const Json& frame) {
    if (!fetches(lane_->point().verb))
        return make_error(Code::BadInput, "'fill' is only for read and atomics");
    fill_round(*lane_, TRY(parse_round(frame, Side::Server)));
    return reply("filled");
}

Result<> Session::on_emit(const Json& frame) {
    if (!is_ping_pong(lane_->point()))
        return make_error(Code::BadInput, "'emit' is only for a ping-pong");
    TRY(emit_round(*lane_, waiting(), TRY(parse_round(frame, Side::Server))));
    // The client must not send before this: its message would come among our own completions.
    return reply("emitted");
}

Result<> Session::on_start(const Json&) {
    lane_->plain_messages();
    account_.begin(device_->info);
    TRY(reply("started"));
    uint64_t messages = 0;
    if (is_ping_pong(lane_->point()))
        messages = TRY(answer_messages(*lane_, waiting()));
    else if (takes_receives(lane_->point()))
        messages = TRY(absorb_messages(*lane_, waiting()));
    else
        return {};  // one-sided: nothing to do until "stop"
    return reply_stopped(messages);
}

Result<> Session::on_stop(const Json& frame) {
    return reply_stopped(TRY(base::required<uint64_t>(frame, "messages")));
}

Result<> Session::on_close(const Json&) {
    lane_.reset();
    ++points_;
    state_ = State::Ready;
    return reply("closed");
}

Result<> Session::reply(std::string_view type, Json body) {
    return control_.send(message(type, std::move(body)), step());
}

Result<> Session::reply_stopped(uint64_t messages) {
    Json body = {{"messages", messages}};
    body.update(to_json(account_.end()));
    return reply("stopped", std::move(body));
}

Deadline Session::idle() const {
    // While a one-sided point is measured the client says nothing; that it lives, the connection
    // shows (keepalive in tcp.cc).
    if (state_ == State::Open)
        return Deadline::in(std::chrono::milliseconds(kMaxTimeMs) + kIdleBetweenPoints);
    return Deadline::in(state_ == State::Ready ? std::chrono::milliseconds(kIdleBetweenPoints)
                                               : options_.timeout);
}

Waiting Session::waiting() {
    return {.control = &control_, .patience = options_.timeout, .poll = lane_->point().poll};
}

std::string Session::where() const {
    return lane_ ? "serving " + describe(lane_->point()) : std::string("serving");
}

}  // namespace perf
