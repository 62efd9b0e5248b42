// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "perf/command/commands.h"
#include "perf/engine/team.h"
#include "perf/protocol/control.h"

namespace perf {

namespace {
// How long a measurement lasts; where only the client knows, as long as it would wait for ours.
std::chrono::milliseconds longest_of(const Team* team) {
    if (team == nullptr || team->point().time_ms == 0)
        return std::chrono::milliseconds(kMaxTimeMs);
    return std::chrono::milliseconds(team->point().time_ms + warmup_ns(team->point()) / 1'000'000);
}

// The best path MTU of both ports, or the wish if both can do it.
Result<uint32_t> agree_mtu(uint32_t wish, const DeviceInfo& own, const DeviceInfo& peer) {
    const uint32_t best = std::min(own.active_mtu, peer.active_mtu);
    if (wish <= best)
        return wish == 0 ? best : wish;
    return make_error(Code::Unsupported,
                      "path MTU {} is asked for; the ports allow {} (server {}) and {} "
                      "(client {})",
                      wish,
                      own.active_mtu,
                      own.device,
                      peer.active_mtu,
                      peer.device)
        .advise("raise the MTU of the netdevs: path MTU 4096 needs 4200 there");
}

// Both sides must speak the same kind of address, or no packet would ever arrive.
Result<> check_same_family(const DeviceInfo& own, const DeviceInfo& peer) {
    if (own.gid_type == peer.gid_type && own.gid.is_v4() == peer.gid.is_v4())
        return {};
    return make_error(Code::Unsupported,
                      "the client uses GID {} ({}), this side only has {} ({})",
                      peer.gid.text(),
                      name_of(peer.gid_type),
                      own.gid.text(),
                      name_of(own.gid_type))
        .advise(
            "run against an address of the RDMA network, or pass --device and --gid on both "
            "sides");
}

// One session, and one thread. It knows no options of a test: the client says what is to be done,
// within the limits of plan.h. What is no message of points is a suite's.
class Session {
  public:
    Session(Verbs& verbs,
            Control control,
            const SideOptions& options,
            Served& served,
            std::span<const Suite* const> suites)
        : verbs_(&verbs),
          control_(std::move(control)),
          options_(options),
          served_(served),
          suites_(suites) {}

    Result<> run() {
        for (;;) {
            auto frame = next_frame();
            if (!frame && frame.error().code == Code::Unavailable && between_points())
                return {};
            auto done = frame ? handle(*frame) : Result<>(std::move(frame).error());
            if (done)
                continue;
            Error error = explain_input(std::move(done).error());
            // The client may be gone, which is why we are here: then this goes nowhere.
            (void)control_.send(error_message(error), Deadline::in(std::chrono::seconds(1)));
            return std::move(error).in(half_   ? "serving " + std::string(suite_->what)
                                       : team_ ? "serving " + describe(team_->point())
                                               : "serving");
        }
    }

  private:
    enum class State { New, Greeted, Ready, Open, Running, Suite };

    struct Step {
        std::string_view type;
        State due;
        Result<> (Session::*handler)(const Json&);
    };

    Result<Json> next_frame() {
        const Deadline deadline = Deadline::in(idle());
        const bool runs = measures();
        // Until the client speaks.
        while (runs && !deadline.passed() &&
               TRY(attend_crew([] { return false; }, team_ ? team_->due() : UINT64_MAX)) ==
                   Attention::Cause::TimeUp &&
               team_)
            team_->look();
        return control_.receive(deadline);
    }

    // Until done(), or the client speaks, goes or has had its time; a worker's failure is an error.
    Result<Attention::Cause> attend_crew(const std::function<bool()>& done,
                                         uint64_t until_ns = UINT64_MAX) {
        const Busy now = busy();
        const Watched watched{.control = &control_, .crew = now.crew};
        const auto patience = static_cast<uint64_t>(std::chrono::nanoseconds(idle()).count());
        const Attention attention =
            TRY(attend({&watched, 1}, std::min(until_ns, now_ns() + patience), done));
        if (attention.cause == Attention::Cause::Failed)
            return ending_error(*now.crew->failure(), *now.waiting);
        return attention.cause;
    }

    [[nodiscard]] Busy busy() const {
        if (half_)
            return half_->busy();
        return {.crew = &team_->crew(), .waiting = &team_->waiting()};
    }

    // The client waits for our answer: whatever comes from it now is its end.
    Result<> await_crew(const std::function<bool()>& done) {
        const Attention::Cause cause = TRY(attend_crew(done));
        if (cause == Attention::Cause::Spoken)
            return wake_error(Wake::Gone, *busy().waiting);
        if (cause == Attention::Cause::TimeUp)
            return make_error(Code::Timeout, "the measurement does not come to its end");
        return {};
    }

    Result<> handle(const Json& frame) {
        const auto type = TRY(base::required<std::string>(frame, "type"));
        const auto* step = std::ranges::find(kSteps, type, &Step::type);
        if (step == std::end(kSteps))
            return serve_suite(type, frame);
        // A client without points that need a device asks for none.
        const bool early = type == "open" && state_ == State::Greeted;
        if (step->due != state_ && !early)
            return not_due(type);
        return (this->*step->handler)(frame);
    }

    Result<> serve_suite(const std::string& type, const Json& frame) {
        const auto found = std::ranges::find_if(suites_, [&](const Suite* suite) {
            return suite->served != nullptr && std::ranges::find(suite->served->messages, type) !=
                                                   suite->served->messages.end();
        });
        if (found == suites_.end())
            return protocol_error("control message '" + printable(type, 40) + "' is not known");
        const ServedSuite* suite = (*found)->served;
        if (state_ == State::Ready && type == suite->messages.front()) {
            if (!options_.memory->kind.is_host)
                return make_error(Code::Unsupported,
                                  "a server with --memory {} serves points only",
                                  options_.memory->kind.word)
                    .advise("start the server without --memory");
            suite_ = suite;
            half_ = suite_->make({.control = &control_,
                                  .options = &options_,
                                  .device = &*device_,
                                  .peer = &peer_,
                                  .account = &account_,
                                  .await = [this](const auto& done) { return await_crew(done); }});
            state_ = State::Suite;
        }
        if (state_ != State::Suite || suite_ != suite)
            return not_due(type);
        Json answer = TRY(half_->answer(type, frame));
        if (type == suite_->messages.back()) {
            half_.reset();
            ++served_.points;
            state_ = State::Ready;
        }
        return control_.send(answer, step());
    }

    // ---- handlers of kSteps ---------------------------------------------------------------------
    Result<> on_hello(const Json& frame) {
        Hello own = own_hello();
        for (const Suite* suite : suites_) {
            if (suite->served != nullptr && suite->served->takes_part(options_))
                own.capabilities.emplace_back(suite->served->capability);
        }
        client_ = TRY(parse<Hello>(frame));
        TRY(check_compatible(client_, Side::Client));
        // A client of version 1 takes no number but its own.
        own.protocol = std::min(own.protocol, client_.protocol);
        state_ = State::Greeted;
        account_.begin_idle();  // the client now measures its own, then opens the first point
        return reply("hello", to_json(own));
    }

    Result<> on_device(const Json& frame) {
        peer_ = TRY(parse<DeviceInfo>(frame));
        device_ = TRY(choose_device());
        served_.explanation = device_->explanation;
        served_.note = device_->note;
        place_buffers(*device_, options_.memory);
        TRY(check_same_family(device_->info, peer_));
        state_ = State::Ready;
        account_.begin_idle();  // idle time begins after the work above
        return reply("device", to_json(device_->info));
    }

    [[nodiscard]] Result<Device> choose_device() const {
        const auto own = local_address(control_.fd());
        if (peer_.iwarp && own)
            return open_cm_device(*verbs_, TRY(cm_device_of(*options_.cm, *own)));
        // Towards the client's GID rather than its control connection: that one may be another
        // network.
        std::vector<Address> sources;
        if (!peer_.gid.is_link_local()) {
            if (const auto source = route_source(peer_.gid))
                sources.push_back(*source);
        }
        if (own)
            sources.push_back(*own);
        DeviceWish wish = options_.wish;
        wish.link_local_peer = peer_.gid.is_link_local();
        return open_best_device(*verbs_, wish, sources);
    }

    Result<> on_open(const Json& frame) {
        account_.end_idle();
        const auto point = frame.find("point");
        if (point == frame.end())
            return make_error(Code::BadInput, "'open' needs 'point'");
        Point wanted = TRY(parse<Point>(*point));
        TRY(check_meaning(wanted, client_, Side::Client));
        wanted.poll = resolve_poll(wanted, device_ ? poll_place(*device_) : PollPlace{});
        TRY(needs_device(wanted.transport) ? open_verbs(wanted, frame) : open_tcp(wanted));
        state_ = State::Open;
        return {};
    }

    [[nodiscard]] Waiting waiting_for(const Point& point) {
        return {.control = &control_,
                .device = needs_device(point.transport) ? &*device_ : nullptr,
                .patience = options_.timeout,
                .poll = point.poll};
    }

    Result<> open_verbs(const Point& point, const Json& frame) {
        if (!device_)
            return protocol_error("control message 'open' is not due before 'device'");
        const auto remote = TRY(parse_endpoints(frame));
        const uint32_t mtu = TRY(agree_mtu(point.mtu, device_->info, peer_));
        Point own = point;
        if (frame.contains("pkey"))
            own.marks.pkey_index =
                TRY(partition_index(*device_, TRY(base::required<uint16_t>(frame, "pkey"))));
        auto team = TRY(VerbsTeam::create(
            *device_, own, Side::Server, waiting_for(point), cm_ends_of(*options_.cm, control_)));
        TRY(team->connect(peer_, remote, mtu));
        TRY(reply("opened", to_json(team->opened())));
        // From here on the client may connect by rdma_cm.
        TRY(team->link(std::nullopt));
        team_ = std::move(team);
        return {};
    }

    Result<> open_tcp(const Point& point) {
        auto team = TRY(TcpTeam::create(point, Side::Server, waiting_for(point)));
        StreamDoor door = TRY(StreamDoor::open(control_));
        TRY(reply("opened", to_json(door.offer(point.poll))));
        TRY(team->connect(
            TRY(door.admit(point.qps, step()).context("opening " + describe(point)))));
        team_ = std::move(team);
        return {};
    }

    // The round that a message asks for; an error where the point has none of the kind, as it does
    // not fit or the poster posts nothing.
    [[nodiscard]] Result<Round> round_in(
        const Json& frame, std::string_view type, bool fits, Side poster, Side from) const {
        const Point& point = team_->point();
        if (!fits || !posts_data(point, poster))
            return make_error(Code::BadInput, "'{}' is not for {}", type, describe(point));
        Round round = TRY(parse_round(frame, point));
        round.from = from;
        return round;
    }

    // on_open() has waited for it.
    Result<> on_link(const Json&) { return reply("linked"); }

    Result<> on_verify(const Json& frame) {
        const Verb verb = team_->point().verb;
        const Round round =
            TRY(round_in(frame, "verify", verb != Verb::Read, Side::Client, Side::Client));
        return reply("verified",
                     to_json(TRY(is_atomic(verb) ? team_->check(round) : team_->collect(round))));
    }

    Result<> on_fill(const Json& frame) {
        const bool fits = fetches(team_->point().verb);
        const Round round = TRY(round_in(frame, "fill", fits, Side::Client, Side::Server));
        TRY(team_->fill(round));
        return reply("filled");
    }

    Result<> on_emit(const Json& frame) {
        const bool fits = !fetches(team_->point().verb);
        const Round round = TRY(round_in(frame, "emit", fits, Side::Server, Side::Server));
        TRY(team_->emit(round));
        // The client must not send before this: its message would come among our own completions.
        return reply("emitted");
    }

    Result<> on_fetch(const Json& frame) {
        const bool fits = fetches(team_->point().verb);
        const Round round = TRY(round_in(frame, "fetch", fits, Side::Server, Side::Client));
        return reply("fetched", to_json(TRY(team_->fetch(round))));
    }

    Result<> on_start(const Json&) {
        TRY(team_->wipe());
        account_.begin(device_ ? device_->info : DeviceInfo());
        TRY(team_->start());
        state_ = State::Running;
        return reply("started");
    }

    Result<> on_mark(const Json&) {
        const Crew& crew = team_->crew();
        uint64_t received = 0;
        const Reading sent = read_in_time([&] {
            received = crew.received();
            return crew.sent();
        });
        return reply("marked",
                     {{"messages", sent.count}, {"received", received}, {"at_ns", sent.at_ns}});
    }

    Result<> on_stop(const Json& frame) {
        const auto sent = TRY(parse_counts(frame, "messages", team_->point().qps));
        Crew& crew = team_->crew();
        // By iterations the workers end by themselves.
        if (team_->point().time_ms != 0)
            crew.close();
        TRY(await_crew([&] { return crew.all_drained(); }));
        team_->expect(sent);
        TRY(await_crew([&] { return crew.all_ended(); }));
        // Of what is one-sided nobody here can count anything.
        const bool counted = receives_data(team_->point(), Side::Server);
        const uint64_t received = counted ? crew.received() : total_of(sent);
        Json body = {{"messages", received}};
        body.update(to_json(team_->posted()));
        body.update(to_json(account_.end()));
        body["looked"] = to_json(team_->looked());
        TRY(reply("stopped", std::move(body)));
        team_->finish();
        state_ = State::Open;
        return {};
    }

    Result<> on_close(const Json&) {
        team_.reset();
        ++served_.points;
        state_ = device_ ? State::Ready : State::Greeted;
        return reply("closed");
    }

    // ----------------------------------------------------------------------------------------------
    Result<> reply(std::string_view type, Json body = Json::object()) {
        return control_.send(message(type, std::move(body)), step());
    }

    // How long the client may be silent now.
    [[nodiscard]] std::chrono::milliseconds idle() const {
        const bool beginning =
            state_ == State::New || (state_ == State::Greeted && served_.points == 0);
        if (beginning)
            return options_.timeout;
        // Its other servers, one after the other, verify for as long as the point lasts.
        if (state_ == State::Open && team_->point().verify == Verify::Full)
            return kMaxHosts * longest_of(team_.get()) + options_.pause;
        return measures() ? longest_of(team_.get()) + options_.timeout + options_.pause
                          : options_.pause;
    }

    [[nodiscard]] bool measures() const {
        return state_ == State::Running || (half_ && half_->busy().crew != nullptr);
    }

    // The client may leave now, and nothing is wrong.
    [[nodiscard]] bool between_points() const {
        return state_ == State::Ready || (state_ == State::Greeted && served_.points != 0);
    }

    [[nodiscard]] Deadline step() const { return Deadline::in(options_.timeout); }

    static constexpr Step kSteps[] = {
        {"hello", State::New, &Session::on_hello},
        {"device", State::Greeted, &Session::on_device},
        {"open", State::Ready, &Session::on_open},
        {"link", State::Open, &Session::on_link},
        {"verify", State::Open, &Session::on_verify},
        {"fill", State::Open, &Session::on_fill},
        {"emit", State::Open, &Session::on_emit},
        {"fetch", State::Open, &Session::on_fetch},
        {"start", State::Open, &Session::on_start},
        {"mark", State::Running, &Session::on_mark},
        {"stop", State::Running, &Session::on_stop},
        {"close", State::Open, &Session::on_close},
    };

    Verbs* verbs_;
    Control control_;
    SideOptions options_;
    Served& served_;
    std::span<const Suite* const> suites_;
    State state_ = State::New;
    Hello client_;
    DeviceInfo peer_;
    std::optional<Device> device_;  // once the client asked for one
    Account account_;
    // What uses the device: an open point or an open suite.
    std::unique_ptr<Team> team_;
    const ServedSuite* suite_ = nullptr;  // of the half
    std::unique_ptr<ServerHalf> half_;
};
}  // namespace

Result<> serve_session(Verbs& verbs,
                       Control control,
                       const SideOptions& options,
                       Served& served,
                       std::span<const Suite* const> suites) {
    return Session(verbs, std::move(control), options, served, suites).run();
}

}  // namespace perf
