// SPDX-License-Identifier: Apache-2.0
// Team: one side of a point. Its lanes, a thread for each group of them while something is
// measured, and what these threads found. Between measurements the lanes belong to the thread that
// owns the team. While a loop runs nothing of Team is called but look().
//
// TeamOf: a team whose lanes come in groups of one kind (Group, TcpGroup): its rounds, and what its
// threads do. So the loops know their lanes by type and call nothing virtual. VerbsTeam: over queue
// pairs. TcpTeam: over TCP connections (control.h), one for each lane.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "perf/engine/crew.h"
#include "perf/engine/engine.h"
#include "perf/engine/integrity.h"
#include "perf/engine/tcp_lane.h"
#include "perf/protocol/control.h"

namespace perf {

// What one thread measured. Read it after the thread has drained (bandwidth) or ended (latency);
// before that only Histogram::since().
struct Shift {
    std::vector<Flow> flows;  // of its lanes
    uint64_t warmup = 0;      // messages of the warm-up, if that was counted in messages
    uint64_t begin_ns = 0;    // by iterations: of the measurement
    uint64_t end_ns = 0;
    Histogram latencies;
};

class Team {
  public:
    virtual ~Team() = default;

    [[nodiscard]] const Point& point() const { return point_; }

    // How the thread that owns the team waits, in rounds of verification.
    [[nodiscard]] const Waiting& waiting() const { return waiting_; }

    // ---- rounds (integrity.h), lane < point().qps -----------------------------------------------
    Result<> fill(const Round& round) { return fill_round(ring(round.lane), round); }

    Result<Checked> check(const Round& round) { return check_ring(ring(round.lane), round); }

    // Of all lanes: before a measurement whose data is looked at; nothing before others.
    Result<> wipe();

    virtual Result<> emit(const Round& round) = 0;
    virtual Result<Checked> collect(const Round& round) = 0;

    // Code::BadInput over TCP, where nothing can be fetched.
    virtual Result<Checked> fetch(const Round&) {
        return make_error(Code::BadInput, "nothing can be fetched over TCP");
    }

    // ---- a measurement --------------------------------------------------------------------------
    // Begins it; the lanes are the threads' until finish().
    Result<> start();

    [[nodiscard]] Crew& crew() { return *crew_; }

    // Looks at some messages in the memory of bandwidth that is verified, if it is due(): of now_ns(),
    // UINT64_MAX for never. It takes a hundredth of this thread's time at most.
    void look();

    [[nodiscard]] uint64_t due() const { return due_ns_; }

    // By look() and by the threads, once these have ended.
    [[nodiscard]] const Checked& looked() const { return look_.found; }

    // What was posted; valid once the crew has drained (latency: has ended).
    [[nodiscard]] Posted posted() const;

    // By lane, how many messages the other side sent.
    void expect(std::span<const uint64_t> messages);

    // Once all threads have ended: the lanes are the caller's again.
    void finish();

    [[nodiscard]] std::span<const Shift> shifts() const { return shifts_; }

  protected:
    Team(const Point& point, Side side, const Waiting& waiting)
        : point_(point), side_(side), waiting_(waiting) {}

    // Ends the threads, whatever they are doing.
    void dismiss() { crew_.reset(); }

    // The lanes of a thread are first_lane(thread) to first_lane(thread + 1) - 1.
    [[nodiscard]] uint32_t first_lane(size_t thread) const {
        return static_cast<uint32_t>(thread * point_.qps / point_.threads);
    }

    [[nodiscard]] virtual Ring& ring(uint32_t lane) = 0;
    // What thread `number` does in a measurement, for which its lanes are made ready now. It may call
    // nothing virtual: whoever gives up has the team destroyed around it, until dismiss().
    virtual Crew::Body body(size_t number, Shift& shift) = 0;

    Point point_;
    Side side_;
    Waiting waiting_;
    Look look_;  // its round is the last one that came in

  private:
    [[nodiscard]] bool expects() const;

    uint64_t looks_ = 0;
    uint64_t due_ns_ = UINT64_MAX;
    std::vector<Shift> shifts_;       // of the threads
    std::vector<uint64_t> expected_;  // by lane, of what the other side sent
    std::unique_ptr<Crew> crew_;      // its threads use all the above, and the lanes: goes first
};

// How long the warm-up of a point that is measured by time lasts.
uint64_t warmup_ns(const Point& point);

// Bandwidth of one group. By time: until the worker is closed. By iterations: a warm-up, then the
// measurement, which all threads begin together.
template <class G, class C>
Ending stream_group(G& group, C& completer, Crew::Hand& hand, Shift& shift, bool posts) {
    const Point& point = group.lanes.front().point;
    Stream stream(group, completer, hand.worker, std::span(shift.flows));
    const auto add_quota = [&](auto&& messages) {
        for (size_t i = 0; posts && i < shift.flows.size(); ++i)
            shift.flows[i].quota += messages(iterations_of(point, group.lanes[i].id.number));
    };
    if (posts && point.iterations != 0) {
        add_quota([&](uint64_t iterations) { return warmup_of(point, iterations); });
        if (const Ending warm = stream.send(); !warm.good())
            return warm;
        shift.warmup = hand.worker.sent();
        hand.meet();
        add_quota([](uint64_t iterations) { return iterations; });
    } else {
        add_quota([](uint64_t) { return UINT64_MAX; });
    }
    shift.begin_ns = now_ns();
    if (const Ending sent = stream.send(); !sent.good())
        return sent;
    shift.end_ns = now_ns();
    hand.drained();
    return stream.receive();
}

template <class G>
class TeamOf : public Team {
  public:
    ~TeamOf() override { dismiss(); }

    Result<> emit(const Round& round) override {
        return emit_round(seat(round.lane), waiting_, round);
    }

    // Once a whole round was lost others are not waited for that long: other clients' servers wait
    // meanwhile, and there may be hundreds of lanes.
    Result<Checked> collect(const Round& round) override {
        look_.round = round;
        Waiting waiting = waiting_;
        if (lost_a_round_)
            waiting.patience = std::min(waiting.patience, kLossPatience);
        Checked checked = TRY(collect_round(seat(round.lane), waiting, round));
        lost_a_round_ = lost_a_round_ || (checked.messages == 0 && checked.lost != 0);
        return checked;
    }

  protected:
    using OneLane = typename decltype(G::lanes)::value_type;
    using Team::Team;

    // number < point().qps
    [[nodiscard]] Seat<OneLane> seat(uint32_t number) {
        for (G& group : groups_) {
            if (number < group.lanes.size())
                return {group.lanes, group.lanes[number]};
            number -= static_cast<uint32_t>(group.lanes.size());
        }
        return {groups_.back().lanes, groups_.back().lanes.back()};
    }

    [[nodiscard]] OneLane& lane(uint32_t number) { return seat(number).lane; }

    // make(first, count) gives the group with these lanes.
    template <class Make>
    Result<> make_groups(Make make) {
        for (size_t thread = 0; thread < point_.threads; ++thread) {
            const uint32_t first = first_lane(thread);
            groups_.push_back(TRY(make(first, first_lane(thread + 1) - first)));
        }
        return {};
    }

    Ring& ring(uint32_t number) override { return lane(number); }

    Crew::Body body(size_t number, Shift& shift) override {
        for (auto& lane : groups_[number].lanes)
            lane.plain_messages();
        return
            [this, number, &shift](Crew::Hand& hand) { return work(groups_[number], hand, shift); };
    }

    std::vector<G> groups_;

  private:
    Ending work(G& group, Crew::Hand& hand, Shift& shift) {
        Waiting waiting = waiting_;
        waiting.word = hand.worker.word_fd();
        const auto loop = [&](auto& queue) {
            return with_completer(queue, waiting, [&](auto& completer) {
                auto& lane = group.lanes.front();
                if (point_.mode == Mode::Latency)
                    return probe(lane, completer, hand, shift, [&](uint64_t number, auto came) {
                        glance(lane, number, came);
                    });
                return stream_group(group, completer, hand, shift, posts_data(point_, side_));
            });
        };
        if constexpr (requires { group.queue->extended; }) {
            if (group.queue->extended != nullptr) {
                LazyQueue lazy{group.queue.get()};
                return loop(lazy);
            }
        }
        return loop(*group.queue);
    }

    // At one message in so many: what that costs may show in the sample behind it.
    void glance(const Ring& lane, uint64_t number, std::span<const ibv_wc> came) noexcept {
        constexpr uint64_t kOneIn = 1024;
        if (number % kOneIn != 0 || !looks_at_messages(lane.point))
            return;
        for (const ibv_wc& wc : came) {
            if ((wc.opcode & IBV_WC_RECV) != 0 || !is_ping_pong(lane.point))
                look_.at(lane, is_send(lane.point.verb) ? low_of(wc) : 0, 0, true);
        }
    }

    template <class L, class C, class Looks>
    Ending probe(L& lane, C& completer, Crew::Hand& hand, Shift& shift, const Looks& looks) {
        if (side_ == Side::Server) {
            hand.drained();  // it only ever answers
            // An open loop owes nothing until its next message is due.
            if (point_.rate != 0)
                completer.be_patient_for(waiting_.patience +
                                         std::chrono::milliseconds(1000 / point_.rate + 1));
            return pong(lane, completer, hand.worker, looks);
        }
        const auto measure = [&](uint64_t time_ns, uint64_t messages, Histogram& histogram) {
            const Limit limit = point_.time_ms != 0 ? Limit{.until_ns = now_ns() + time_ns}
                                                    : Limit{.messages = messages};
            if (point_.rate != 0)
                return OpenLoop(lane, completer, hand.worker).run(limit, histogram);
            if (is_ping_pong(point_))
                return ping<true>(lane, completer, hand.worker, limit, histogram, looks);
            return ping<false>(lane, completer, hand.worker, limit, histogram, looks);
        };
        Histogram ignored;
        const Ending warm =
            measure(warmup_ns(point_), warmup_of(point_, point_.iterations), ignored);
        if (!warm.good())
            return warm;
        shift.warmup = hand.worker.sent();
        shift.begin_ns = now_ns();
        const Ending end =
            measure(uint64_t{point_.time_ms} * 1'000'000, point_.iterations, shift.latencies);
        shift.end_ns = now_ns();
        // What finish() reports as sent.
        shift.flows.front().completed = hand.worker.sent();
        return end;
    }

    bool lost_a_round_ = false;
};

class VerbsTeam : public TeamOf<Group> {
  public:
    // Everything up to queue pairs in INIT with their receives posted. `waiting` says how to wait
    // and whose words explain a failure; the device must live longer. `ends`: for rdma_cm, if the
    // point wants it.
    static Result<std::unique_ptr<VerbsTeam>> create(const Device& device,
                                                     const Point& point,
                                                     Side side,
                                                     const Waiting& waiting,
                                                     const CmEnds& ends);

    // Queue pairs go before what rdma_cm connected them with.
    ~VerbsTeam() override {
        dismiss();
        groups_.clear();
    }

    // To RTR and RTS. Code::BadInput if there is not one endpoint for each lane. Where rdma_cm
    // connects, only prepares it.
    Result<> connect(const DeviceInfo& peer, std::span<const Endpoint> remote, uint32_t mtu);

    // What the other side needs to know of the lanes, and what is known of them once connected.
    [[nodiscard]] Opened opened();

    // After connect() of both sides: rdma_cm connects; nothing to do without it. The client calls
    // it with the ticket, the server at the same time. If the ticket wants it, the client also asks
    // "link", which the server answers after this.
    Result<> link(const std::optional<CmTicket>& ticket);

    Result<Checked> fetch(const Round& round) override {
        look_.round = round;
        return fetch_round(seat(round.lane), waiting_, round);
    }

  private:
    using TeamOf::TeamOf;

    uint32_t mtu_ = 0;
    std::unique_ptr<CmLinks> cm_;  // where rdma_cm connects
};

class TcpTeam : public TeamOf<TcpGroup> {
  public:
    static Result<std::unique_ptr<TcpTeam>> create(const Point& point,
                                                   Side side,
                                                   const Waiting& waiting) {
        std::unique_ptr<TcpTeam> team(new TcpTeam(point, side, waiting));
        TRY(team->make_groups([&](uint32_t first, uint32_t count) {
            return TcpGroup::create(point, side, first, count);
        }));
        return team;
    }

    Result<> connect(Streams streams) {
        for (uint32_t number = 0; number < point_.qps; ++number)
            TRY(lane(number).connect(std::move(streams[number])));
        return {};
    }

  private:
    using TeamOf::TeamOf;
};

}  // namespace perf
