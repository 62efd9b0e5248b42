// SPDX-License-Identifier: Apache-2.0
// Team: one side of a point. Its lanes, a thread for each group of them while something is
// measured, and what these threads found. Between measurements the lanes belong to the thread that
// owns the team. VerbsTeam and TcpTeam make and connect the lanes; nothing here is called while a
// loop runs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "perf/engine/crew.h"
#include "perf/engine/integrity.h"
#include "perf/engine/latency.h"

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
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    [[nodiscard]] const Point& point() const { return point_; }

    // How the thread that owns the team waits, in rounds of verification.
    [[nodiscard]] const Waiting& waiting() const { return waiting_; }

    // ---- rounds (integrity.h) of one lane, number < point().qps ---------------------------------
    Result<> fill(uint32_t lane, const Round& round) { return fill_round(ring(lane), round); }

    Result<Checked> check(uint32_t lane, const Round& round) {
        return check_ring(ring(lane), round);
    }

    // Of all lanes: before a measurement whose data is looked at.
    Result<> wipe();

    virtual Result<> emit(uint32_t lane, const Round& round) = 0;
    virtual Result<Checked> collect(uint32_t lane, const Round& round) = 0;

    // Code::BadInput over TCP, where nothing can be fetched.
    virtual Result<Checked> fetch(uint32_t, const Round&) {
        return make_error(Code::BadInput, "nothing can be fetched over TCP");
    }

    // ---- a measurement --------------------------------------------------------------------------
    // Begins it; the lanes are the threads' until finish().
    Result<> start();

    [[nodiscard]] Crew& crew() { return *crew_; }

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
    // Before the threads of a measurement begin.
    virtual void prepare() = 0;
    // What thread `number` does in it. It may call nothing virtual: whoever gives up has the team
    // destroyed around it, until dismiss().
    virtual Crew::Body body(size_t number, Shift& shift) = 0;

    Point point_;
    Side side_;
    Waiting waiting_;

  private:
    [[nodiscard]] bool expects() const;

    std::vector<Shift> shifts_;       // of the threads
    std::vector<uint64_t> expected_;  // by lane, of what the other side sent
    std::unique_ptr<Crew> crew_;      // its threads use all the above, and the lanes: goes first
};

// How long the warm-up of a point that is measured by time lasts.
uint64_t warmup_ns(const Point& point);

}  // namespace perf
