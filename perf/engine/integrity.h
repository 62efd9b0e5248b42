// SPDX-License-Identifier: Apache-2.0
// Integrity: rounds in which every byte of a ring full of messages is checked, before and after
// something is timed, lane by lane; and looks at what this brings, and has left in memory. A
// round's messages have patterns of their own, so that what is left of the round before does not
// look right. The receiving side checks only what the verbs promise to be there: SEND and WRITE
// with immediate after their receive's completion, WRITE after the receive of an empty SEND that
// follows it on the same queue pair (a completion at the writer says nothing about the reader's
// memory), READ after its own completion, atomics at both ends: the words that came back and those
// that they left. Guard bands are checked with each round.
#pragma once

#include <span>
#include <vector>

#include "perf/engine/crew.h"
#include "perf/engine/lane.h"

namespace perf {

inline constexpr uint32_t kRoundsBefore = 2;
inline constexpr uint32_t kRoundsAfter = 1;

// A lane, and all that complete to the same queue: what comes late may be of any of them.
template <class L>
struct Seat {
    std::span<L> lanes;
    L& lane;
};

// Puts the round's pattern into the slots that go out.
Result<> fill_round(const Ring& lane, const Round& round);

// Fills and sends the round's messages, and the credit where one is due. L: Lane or TcpLane.
template <class L>
Result<> emit_round(const Seat<L>& seat, const Waiting& waiting, const Round& round);

// Waits for the round's messages, checks them and posts their receives again.
// Over a transport that loses messages, those that do not come are counted; those that come after
// all, in whatever is next, are not checked any more.
template <class L>
Result<Checked> collect_round(const Seat<L>& seat, Waiting waiting, const Round& round);

// Puts poison where messages come in, so that a slot which a measurement does not write is found.
Result<> wipe_ring(const Ring& lane);

// Checks what is in the ring now: the words that atomics left, or what a measurement did.
Result<Checked> check_ring(const Ring& lane, const Round& round);

// READ and atomics: fetches the other side's slots and checks what came back.
Result<Checked> fetch_round(const Seat<Lane>& seat, const Waiting& waiting, const Round& round);

// Looks at messages that come in while something is measured: each has the data of a message of the
// round before it. The device may write to their slots meanwhile, always the same data.
struct Look {
    // `number`: of the round's message that has come to the slot. Before that, poison is no error.
    void at(const Ring& lane, uint32_t slot, uint32_t number, bool has_come);

    Round round = {};
    Checked found = {};
    std::vector<uint64_t> copy = {};
};

// Adds a round's outcome to a point's; the first wrong byte stays.
void add(Checked& total, const Checked& more);

}  // namespace perf
