// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/client.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "perf/system/tcp.h"
#include "perf/verbs/limit.h"

namespace perf {

namespace {
constexpr auto kIdleWatch = std::chrono::milliseconds(100);

// An older server would leave out, without a word, what it has never heard of.
Result<> check_known(const Hello& server, const Point& point) {
    const std::pair<std::string_view, bool> asked[] = {{"marks", point.marks != Marks{}},
                                                       {"reads", point.reads != 0},
                                                       {"inline", point.inline_bytes.has_value()},
                                                       {"signal", point.signal != 0},
                                                       {"srd", point.transport == Transport::Srd}};
    for (const auto& [capability, is_asked] : asked) {
        if (is_asked && !can(server, capability))
            return make_error(Code::Unsupported,
                              "the server (version {}) does not know the setting '{}'",
                              server.version,
                              capability)
                .advise("upgrade rdma-perf on the peer");
    }
    return {};
}

// What did not arrive was not transferred, however fast it was sent. By time only what arrived was
// counted; by iterations nobody knows when it was lost, in the warm-up or later. What was lost in a
// verify round may have come in the measurement.
Result<> account_loss(Part& part, const PointResult& result, uint64_t sent, uint64_t seen) {
    const bool loses = !is_reliable(result.point.transport);
    const uint64_t late = loses ? result.checked.lost : 0;
    if ((seen < sent && !loses) || (seen > sent && seen - sent > late))
        return make_error(
            Code::Internal, "{} messages were sent, the other side saw {}", sent, seen);
    part.lost = sent - std::min(sent, seen);
    if (part.lost != 0 && result.point.iterations != 0)
        part.messages =
            static_cast<uint64_t>(static_cast<double>(part.messages) * static_cast<double>(seen) /
                                  static_cast<double>(sent));
    return {};
}

Result<> check_order(const Mark& earlier, const Mark& later) {
    for (size_t i = 0; i < later.size(); ++i) {
        if (later[i].count < earlier[i].count || later[i].at_ns < earlier[i].at_ns)
            return protocol_error("the server's counts or clock went back");
    }
    return {};
}

Part part_between(Direction direction, const Mark& opened, const Mark& closed) {
    const Reading& from = opened[static_cast<size_t>(direction)];
    const Reading& to = closed[static_cast<size_t>(direction)];
    return {.direction = direction,
            .messages = to.count - from.count,
            .elapsed_ns = to.at_ns - from.at_ns,
            .warmup_messages = from.count};
}
}  // namespace

Result<Client> Client::greet(Control control, const SideOptions& options) {
    Client client(std::move(control), options);
    Hello own = own_hello();
    own.protocol = options.protocol;
    client.server_ = TRY(client.ask<Hello>("hello", to_json(own), "hello"));
    TRY(check_compatible(client.server_, Side::Server));
    return client;
}

Result<Client> Client::start(Verbs& verbs, Control control, const SideOptions& options) {
    Client client = TRY(greet(std::move(control), options));
    client.device_ = TRY(client.choose_device(verbs));
    place_buffers(*client.device_, options.memory);
    client.peer_ = TRY(client.ask<DeviceInfo>("device", to_json(client.device_->info), "device"));
    return client;
}

Result<Device> Client::choose_device(Verbs& verbs) const {
    std::vector<Address> sources;
    if (const auto local = local_address(control_.fd())) {
        sources.push_back(*local);
        // Without a device at the address the choice by GID has the better explanation.
        const auto found =
            options_.by_cm ? cm_device_of(*options_.cm, *local) : Result<CmDevice>(CmDevice{});
        if (found && found->iwarp)
            return open_cm_device(verbs, *found);
    }
    Device device = TRY(open_best_device(verbs, options_.wish, sources));
    if (!options_.by_cm && device.context->device->transport_type == IBV_TRANSPORT_IWARP)
        return make_error(Code::Unsupported,
                          device.info.device + " is iWARP, which only rdma_cm connects")
            .advise("pass --cm");
    return device;
}

Result<> Client::watch_idle() {
    account_.begin_idle();
    // The server has nothing to say now: what wakes us is its end, which the next step reports.
    const auto woken =
        wait_ready(control_.fd(), POLLRDHUP, Deadline::in(kIdleWatch), control_.stop());
    if (!woken && woken.error().code != Code::Timeout)
        return woken;
    account_.end_idle();
    return {};
}

Result<> Client::open(const Point& point) {
    result_ = {};
    result_.point = point;
    result_.point.poll = resolve_poll(point, device_ ? poll_place(*device_) : PollPlace{});
    if (device_ && device_->signals_all && point.mode == Mode::Bandwidth)
        result_.point.signal = 1;
    measured_ = {};
    seen_ = {};
    next_round_ = 0;
    sent_by_server_.clear();
    // A server's patience begins again with each `mark`: to it a point without an end has an hour.
    Point wish = point;
    // Each costs as much as a small message: the fewest that the receives allow.
    if (device_ && needs_credits(*device_, point) && can(server_, "credit"))
        wish.credit = result_.point.credit = stream_receives(point) / 2;
    wish.time_ms = std::min(point.time_ms, kMaxTimeMs);
    return needs_device(point.transport) ? open_verbs(wish) : open_tcp(wish);
}

Result<> Client::open_verbs(const Point& wish) {
    if (!device_)
        return make_error(Code::Internal, "no device is open");
    TRY(check_meaning(wish, server_, Side::Server));
    TRY(check_known(server_, wish));
    Json body = {{"point", to_json(wish)}};
    // The look-up names an index that the port does not have; a queue pair would only be refused.
    if (wish.marks.pkey_index != 0)
        body["pkey"] = TRY(partition_key(*device_, wish.marks.pkey_index));
    Waiting waiting = this->waiting();
    waiting.device = &*device_;
    auto team = TRY(VerbsTeam::create(
        *device_, result_.point, Side::Client, waiting, cm_ends_of(*options_.cm, control_)));
    body["endpoints"] = to_json(team->opened().endpoints);
    const Opened opened = TRY(ask<Opened>("open", std::move(body), "opened"));
    if (opened.mtu > device_->info.active_mtu)
        return make_error(Code::BadInput, "the server chose a path MTU that our port cannot do");
    TRY(team->connect(peer_, opened.endpoints, opened.mtu));
    TRY(team->link(opened.ticket));
    result_.mtu = opened.mtu;
    result_.server_poll = opened.poll;
    result_.server_ordering = opened.ordering;
    Opened own = team->opened();
    result_.means = std::move(own.means);
    result_.server_means = opened.means;
    result_.reads = std::max(own.reads, opened.reads);
    result_.inline_bytes = std::max(own.inline_bytes, opened.inline_bytes);
    team_ = std::move(team);
    return {};
}

Result<> Client::open_tcp(const Point& wish) {
    auto team = TRY(TcpTeam::create(result_.point, Side::Client, waiting()));
    const auto offer = TRY(ask<StreamOffer>("open", {{"point", to_json(wish)}}, "opened"));
    TRY(team->connect(TRY(dial_streams(control_, offer, result_.point.qps, step()))));
    result_.server_poll = offer.poll;
    team_ = std::move(team);
    return {};
}

Result<> Client::verify_before() {
    const Point& point = result_.point;
    const Checked& checked = result_.checked;
    if (point.verify == Verify::Off)
        return {};
    // Full: as long, or as many messages, as what will be measured.
    const uint64_t until_ns = now_ns() + uint64_t{point.time_ms} * 1'000'000;
    do {
        TRY(verify_rounds(kRoundsBefore));
    } while (point.verify == Verify::Full && !checked.wrong &&
             (point.time_ms != 0 ? now_ns() < until_ns
                                 : checked.messages + checked.lost < point.iterations));
    return {};
}

Result<> Client::verify_after() {
    if (result_.point.verify == Verify::Off)
        return {};
    TRY(verify_left());
    return verify_rounds(kRoundsAfter);
}

Result<> Client::verify_rounds(uint32_t count) {
    for (uint32_t i = 0; i < count && !result_.checked.wrong; ++i, ++next_round_) {
        for (uint32_t lane = 0; lane < result_.point.qps; ++lane) {
            for (const Side poster : {Side::Client, Side::Server})
                TRY(verify_of(poster, {.lane = lane, .number = next_round_}));
        }
    }
    return {};
}

// The messages of the measurement are those of the last round, again and again. By iterations those
// of the warm-up are in the same slots.
Result<> Client::verify_left() {
    const Point& point = result_.point;
    // Which slots the rest would have used is not known.
    const bool cut = point.iterations != 0 && !result_.complete;
    // An older server does not know how.
    if (!looks_at_memory(point) || !can(server_, "load") || cut)
        return {};
    for (const Side poster : {Side::Client, Side::Server}) {
        const auto sent = poster == Side::Client ? team_->posted().by_lane : sent_by_server_;
        for (uint32_t lane = 0; posts(poster) && lane < point.qps; ++lane) {
            const uint64_t messages =
                point.iterations != 0 ? iterations_of(point, lane) : sent[lane];
            const auto left = static_cast<uint32_t>(std::min<uint64_t>(messages, point.slots));
            if (left != 0)
                TRY(verify_of(poster, {.lane = lane, .number = next_round_ - 1, .left = left}));
        }
    }
    return {};
}

// Nothing, once anything was wrong. Of atomics the words that they left are checked as well.
Result<> Client::verify_of(Side poster, Round round) {
    Checked& checked = result_.checked;
    if (!posts(poster) || checked.wrong)
        return {};
    const Point& point = result_.point;
    const bool is_ours = poster == Side::Client;
    // What is fetched comes from the side that does not post.
    round.from = fetches(point.verb) == is_ours ? Side::Server : Side::Client;
    const Json body = to_json(round);
    if (!fetches(point.verb)) {
        TRY(control_.send(message(is_ours ? "verify" : "emit", body), step()));
        if (!is_ours) {
            add(checked, TRY(team_->collect(round)));
            TRY(control_.expect("emitted", step()));
            return {};
        }
        TRY(team_->emit(round));
        // If all is lost, it is so long that the server waits for it.
        const auto more =
            is_reliable(point.transport) ? std::chrono::milliseconds(0) : kFirstPatience;
        const Deadline deadline = Deadline::in(options_.timeout + more);
        add(checked, TRY(parse<Checked>(TRY(control_.expect("verified", deadline)))));
        return {};
    }
    if (round.left == 0 && is_ours)
        TRY(control_.ask(message("fill", body), "filled", step()));
    if (round.left == 0 && !is_ours)
        TRY(team_->fill(round));
    add(checked, TRY(is_ours ? team_->fetch(round) : ask<Checked>("fetch", body, "fetched")));
    if (!is_atomic(point.verb) || checked.wrong)
        return {};
    round.from = Side::Server;
    add(checked, TRY(is_ours ? ask<Checked>("verify", body, "verified") : team_->check(round)));
    return {};
}

Result<> Client::begin() {
    TRY(team_->wipe());
    // Once the server has begun nothing of ours may take long: it sends already.
    account_.look(device_ ? device_->info : DeviceInfo());
    // Who only receives is there before the first message. Who sends waits for the other side.
    const bool only_receives = !posts(Side::Client);
    if (only_receives)
        TRY(team_->start());
    TRY(control_.ask(message("start"), "started", step()));
    account_.begin();
    return only_receives ? Result<>() : team_->start();
}

Result<Mark> Client::mark(bool must_ask) {
    const Point& point = result_.point;
    const bool on_arrival = point.transport == Transport::Tcp ||
                            (!is_reliable(point.transport) && takes_receives(point));
    Mark mark{};
    if (posts(Side::Server) || on_arrival || must_ask) {
        const Json frame = TRY(control_.ask(message("mark"), "marked", step()));
        const auto at_ns = TRY(base::required<uint64_t>(frame, "at_ns"));
        mark = {Reading{TRY(base::optional_member<uint64_t>(frame, "received", 0)), at_ns},
                Reading{TRY(base::required<uint64_t>(frame, "messages")), at_ns}};
    }
    const Crew& crew = team_->crew();
    mark[on_arrival ? 1 : 0] =
        read_in_time([&] { return on_arrival ? crew.received() : crew.sent(); });
    return mark;
}

Result<> Client::open_window() {
    opened_ = interval_ = TRY(mark());
    return {};
}

Result<> Client::close_window() {
    closed_ = TRY(mark());
    return check_order(opened_, closed_);
}

Result<Stretch> Client::end_interval() {
    const Mark now = TRY(mark(true));
    Stretch stretch;
    if (result_.point.mode == Mode::Latency) {
        stretch.latencies = team_->shifts().front().latencies.since(seen_);
        seen_.merge(stretch.latencies);
        return stretch;
    }
    TRY(check_order(interval_, now));
    if (posts(Side::Client))
        stretch.parts.push_back(part_between(Direction::Forward, interval_, now));
    if (posts(Side::Server))
        stretch.parts.push_back(part_between(Direction::Reverse, interval_, now));
    interval_ = now;
    return stretch;
}

Result<> Client::stop() {
    // Before the server's end, if we do not wait for that: its window lies around ours.
    if (!ends_with_server())
        result_.usage.client = account_.end();
    // The server finishes what it has under way first; what shows that it lives is the connection
    // (tcp.h).
    const auto patience =
        server_goes_on() ? std::chrono::milliseconds(kMaxTimeMs) : 2 * options_.timeout;
    answer_due_ns_ = now_ns() + static_cast<uint64_t>(std::chrono::nanoseconds(patience).count());
    auto sent = control_.send(message("stop", {{"messages", team_->posted().by_lane}}), step());
    // Who has gone may have said why: that is read as the answer.
    if (!sent && sent.error().code != Code::Unavailable)
        return std::move(sent).error();
    return {};
}

Result<> Client::take_stopped() {
    // It is there, but for its end, or late.
    const bool late = now_ns() >= std::exchange(answer_due_ns_, UINT64_MAX);
    const Json stopped = TRY(control_.expect("stopped", late ? Deadline::now() : step()));
    if (ends_with_server())
        result_.usage.client = account_.end();
    result_.usage.server = TRY(parse_usage(stopped));
    if (const auto looked = stopped.find("looked"); looked != stopped.end())
        add(result_.checked, TRY(parse<Checked>(*looked)));
    const auto seen = TRY(base::required<uint64_t>(stopped, "messages"));
    if (posts(Side::Client)) {
        const Posted posted = team_->posted();
        Part part = part_of(Direction::Forward, posted);
        TRY(account_loss(part, result_, total_of(posted.by_lane), seen));
        measured_.parts.push_back(part);
    }
    if (posts(Side::Server) && !is_ping_pong(result_.point)) {
        const Posted posted = TRY(parse_posted(stopped, result_.point.qps));
        team_->expect(posted.by_lane);
        sent_by_server_ = posted.by_lane;
        measured_.parts.push_back(part_of(Direction::Reverse, posted));
    }
    return {};
}

Part Client::part_of(Direction direction, const Posted& posted) {
    const uint64_t sent = total_of(posted.by_lane);
    result_.usage.payload_bytes += sent * result_.point.size;
    if (result_.point.iterations == 0)
        return part_between(direction, opened_, closed_);
    return {.direction = direction,
            .messages = sent - posted.warmup_messages,
            .elapsed_ns = posted.elapsed_ns,
            .warmup_messages = posted.warmup_messages};
}

Result<> Client::settle() {
    if (receives_data(result_.point, Side::Client) && !is_ping_pong(result_.point)) {
        const uint64_t seen = team_->crew().received();
        TRY(account_loss(measured_.parts.back(), result_, total_of(sent_by_server_), seen));
    }
    team_->finish();
    add(result_.checked, team_->looked());
    measured_.latencies = team_->shifts().front().latencies;
    return {};
}

Result<> Client::close() {
    // The server lets go first: then nothing of ours is still on its way when our side goes.
    TRY(control_.ask(message("close"), "closed", step()));
    team_.reset();
    return {};
}

Error Client::explain(const Attention& attention) {
    const Waiting& waiting = team_->waiting();
    // Who is stopped with the server need not be told of the server's end.
    if (control_.stop().requested())
        return stopped_error();
    if (attention.cause == Attention::Cause::Failed)
        return ending_error(*team_->crew().failure(), waiting);
    return wake_error(Wake::Gone, waiting);
}

std::optional<LimitShare> Client::share_of_limit(const Bandwidth& bandwidth) const {
    if (!device_)
        return std::nullopt;
    // Both directions have a link each.
    Bandwidth busier = bandwidth.parts.empty() ? bandwidth : Bandwidth{};
    for (const Part& part : bandwidth.parts) {
        const Bandwidth one = sum_of({part});
        if (messages_per_second(one) > messages_per_second(busier))
            busier = one;
    }
    const Point& point = result_.point;
    const auto limit =
        payload_limit(wire_between(device_->info, peer_, result_.mtu, point.marks), point);
    if (!limit)
        return std::nullopt;
    return LimitShare{messages_per_second(busier) * point.size / *limit * 100,
                      limit_margin(point, busier.messages)};
}

Result<std::vector<Client>> start_clients(std::vector<Control> controls,
                                          const SideOptions& side,
                                          const Surroundings& around,
                                          bool with_device) {
    std::vector<Client> clients;
    for (Control& control : controls) {
        clients.push_back(TRY(with_device ? Client::start(around.verbs, std::move(control), side)
                                          : Client::greet(std::move(control), side)));
        const Client& client = clients.back();
        if (client.has_device() && !client.device().note.empty())
            fmt::print(around.err, "rdma-perf: note: {}\n", client.device().note);
    }
    return clients;
}

Result<std::vector<Client>> connect_clients(std::span<const std::string> hosts,
                                            uint16_t port,
                                            const SideOptions& side,
                                            const Surroundings& around,
                                            bool with_device) {
    std::vector<Control> controls;
    for (const std::string& host : hosts) {
        UniqueFd fd = TRY(connect_to(host, port, Deadline::in(side.timeout), around.stop));
        controls.emplace_back(std::move(fd), around.stop);
    }
    auto clients = start_clients(std::move(controls), side, around, with_device);
    // A server of version 1 takes no number but its own, and later ones take it, too.
    SideOptions older = side;
    older.protocol = kProtocol - 1;
    const auto refusal = fmt::format("the peer says: protocol {} here", older.protocol);
    const bool ask_again =
        !clients && side.protocol == kProtocol && clients.error().text.starts_with(refusal);
    return ask_again ? connect_clients(hosts, port, older, around, with_device)
                     : std::move(clients);
}

}  // namespace perf
