// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/integrity.h"

#include <algorithm>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "perf/engine/tcp_lane.h"

namespace perf {

struct Arrivals {
    Checked checked;
    std::vector<bool> seen;
    uint32_t came = 0;
};

namespace {
PatternKey key_of(const Ring& lane, const Round& round, uint64_t message) {
    const unsigned direction = round.from == Side::Server ? 0x8000 : 0;
    return {lane.point.seed, static_cast<uint16_t>(direction | lane.id.number), message};
}

uint64_t first_message(const Ring& lane, const Round& round) {
    return uint64_t{round.number} * lane.point.slots;
}

void note(Checked& checked,
          const Ring& lane,
          uint64_t message,
          const Mismatch& mismatch,
          bool is_guard = false) {
    const char* side = lane.side == Side::Client ? "client" : "server";
    if (!checked.wrong)
        checked.wrong = {side, message, is_guard, mismatch};
}

void check_slot(
    const Ring& lane, const Round& round, uint32_t slot, uint32_t number, Checked& checked) {
    const uint64_t message = first_message(lane, round) + number;
    const auto data = lane.memory.slot(lane.layout.in, slot);
    ++checked.messages;
    checked.bytes += data.size();
    if (const auto wrong = check_pattern(data, key_of(lane, round, message)))
        note(checked, lane, message, *wrong);
}

void check_bands(const Ring& lane, const Round& round, Checked& checked) {
    if (const auto hit = check_guards(lane.memory.all(), lane.layout.in))
        note(checked,
             lane,
             first_message(lane, round) + hit->slot,
             {hit->offset, hit->expected, hit->got, "stray write into a guard band"},
             true);
}

// From the round's first message to this one, by its immediate; numbers wrap around.
uint32_t distance_to(const Ring& lane, const Round& round, const ibv_wc& wc) {
    return ntohl(wc.imm_data) - static_cast<uint32_t>(first_message(lane, round));
}

// One arrival's number in the round: what its immediate says, or the order where nothing can be
// lost.
std::optional<uint32_t> arrival_number(const Ring& lane,
                                       const Round& round,
                                       const ibv_wc& wc,
                                       uint64_t arrived) {
    const Point& point = lane.point;
    if (is_ordered(point.transport) && point.verb != Verb::SendImm && !writes_with_immediate(point))
        return static_cast<uint32_t>(arrived);
    const uint32_t number = distance_to(lane, round, wc);
    if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || place_of(wc) != lane.id.place ||
        number >= point.slots)
        return std::nullopt;
    return number;
}

// A message of something earlier: of another lane, whose turn it is not; of the measurement, which
// numbers nothing; or of an earlier round.
bool is_late(const Ring& lane, const Round& round, const ibv_wc& wc) {
    if (is_reliable(lane.point.transport))
        return false;
    if (place_of(wc) != lane.id.place)
        return true;
    if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0)
        return lane.point.verb == Verb::Send;
    return static_cast<int32_t>(distance_to(lane, round, wc)) < 0;
}

// One that had been given up for lost makes room again. False: none had, so it came twice.
template <class L>
Result<bool> take_late(const Seat<L>& seat, const ibv_wc& wc) {
    L& lane = seat.lanes[place_of(wc)];
    if (lane.missing <= 0)
        return false;
    --lane.missing;
    TRY(outcome_of(lane.post_receives(1), "post receives"));
    return true;
}

// One message's receive: which message, in which slot, and whether all of it came.
Result<> check_arrival(const Ring& lane, const Round& round, const ibv_wc& wc, Arrivals& arrivals) {
    const Point& point = lane.point;
    Checked& checked = arrivals.checked;
    const auto number = arrival_number(lane, round, wc, checked.messages);
    const uint64_t counted = first_message(lane, round) + checked.messages;
    if (!number || arrivals.seen[*number]) {
        // The better explanation, whatever else was found: what came once too often is in a place
        // that was another message's.
        checked.wrong.reset();
        note(checked, lane, counted, {0, 0, 0, number ? "a message twice" : "a wrong immediate"});
        ++checked.messages;
        return {};
    }
    arrivals.seen[*number] = true;
    const uint32_t whole = point.size + static_cast<uint32_t>(lane.layout.in.lead);
    if (wc.byte_len != whole && is_send(point.verb))
        note(checked,
             lane,
             first_message(lane, round) + *number,
             {wc.byte_len, 0, 0, fmt::format("a message of {} bytes", wc.byte_len)});
    // WRITE with immediate came to the slot that the writer named.
    const uint32_t slot = is_send(point.verb) ? low_of(wc) : *number;
    TRY(lane.memory.pull(lane.layout.in, slot));
    check_slot(lane, round, slot, *number, checked);
    return {};
}

// Completions that a round is for its receiver.
uint32_t due_of(const Point& point, const Round& round) {
    if (arrives_by_credit(point))
        return 1;
    return round.left == 0 ? point.slots : 0;
}

// True: the last one that is due.
template <class L>
Result<bool> take_arrival(const Seat<L>& seat,
                          const Round& round,
                          const ibv_wc& wc,
                          Arrivals& arrivals) {
    const Point& point = seat.lane.point;
    if ((wc.opcode & IBV_WC_RECV) == 0)
        return make_error(Code::Internal, "a completion of a send where a receive was due");
    if (is_late(seat.lane, round, wc) && TRY(take_late(seat, wc)))
        return false;
    if (!arrives_by_credit(point))
        TRY(check_arrival(seat.lane, round, wc, arrivals));
    return ++arrivals.came == due_of(point, round);
}

// Calls take(wc, completer) for each completion until it says that it has them all.
template <class L, class Take>
Result<> take_until(L& lane, const Waiting& waiting, Take&& take) {
    return with_completer(lane.completions(), waiting, [&](auto& completer) -> Result<> {
        ibv_wc wc{};
        for (bool all = false; !all;) {
            int got = 0;
            const Wake wake = completer.wait({&wc, 1}, got);
            const Ending end{.wake = wake, .bad = wc};
            if (!end.good())
                return ending_error(end, waiting);
            all = TRY(take(wc, completer));
        }
        return {};
    });
}

// Sends the whole ring: it never is larger than what may be in flight.
template <class L>
Result<> send_ring(const Seat<L>& seat, const Waiting& waiting, const Round& round) {
    L& lane = seat.lane;
    const uint32_t slots = lane.point.slots;
    lane.number_messages(static_cast<uint32_t>(first_message(lane, round)));
    for (uint32_t at = 0; at < slots; at += lane.hot.batch) {
        const uint32_t count = std::min(lane.hot.batch, slots - at);
        TRY(outcome_of(lane.post_batch(at, count, at + count == slots), "post a work request"));
    }
    uint32_t sent = 0;
    return take_until(lane, waiting, [&](const ibv_wc& wc, auto&) -> Result<bool> {
        if ((wc.opcode & IBV_WC_RECV) == 0)
            return (sent += low_of(wc)) >= slots;
        if (!TRY(take_late(seat, wc)))
            return make_error(Code::Internal, "a message came where none was due");
        return false;
    });
}

// Each atomic turns the word of the side that holds it into one of the side that posts: by adding
// the difference, or by swapping it in. So what comes back and what stays are both known, and
// patterns like all others.
void exchange_words(Lane& lane, const Round& round) {
    for (uint32_t slot = 0; slot < lane.point.slots; ++slot) {
        const uint64_t message = first_message(lane, round) + slot;
        const uint64_t before = pattern_base(key_of(lane, round, message));
        const Round own{.number = round.number, .from = lane.side};
        const uint64_t after = pattern_base(key_of(lane, own, message));
        if (lane.point.verb == Verb::FetchAdd)
            lane.set_operands(slot, after - before, 0);
        else
            lane.set_operands(slot, before, after);
    }
}

// What may be written at the same time is read once, and what was read is judged. A slot begins at a
// word, and behind it is a guard band.
[[gnu::no_sanitize("thread")]] void copy_live(const std::byte* from, std::span<uint64_t> to) {
    using Word [[gnu::may_alias]] = uint64_t;
    const auto* next = reinterpret_cast<const volatile Word*>(from);
    for (uint64_t& word : to)
        word = *next++;
}
}  // namespace

Result<> fill_round(const Ring& lane, const Round& round) {
    const Area& area = is_atomic(lane.point.verb) ? lane.layout.in : lane.layout.out;
    for (uint32_t slot = 0; slot < lane.point.slots; ++slot)
        fill_pattern(lane.memory.slot(area, slot),
                     key_of(lane, round, first_message(lane, round) + slot));
    return lane.memory.push(area);
}

template <class L>
Result<> emit_round(const Seat<L>& seat, const Waiting& waiting, const Round& round) {
    L& lane = seat.lane;
    if (round.left == 0) {
        TRY(fill_round(lane, round));
        TRY(send_ring(seat, waiting, round));
    }
    if constexpr (requires { lane.post_credit(); }) {
        if (!arrives_by_credit(lane.point))
            return {};
        TRY(outcome_of(lane.post_credit(), "post the credit"));
        return take_until(lane, waiting, [](const ibv_wc&, auto&) -> Result<bool> { return true; });
    }
    return {};
}

Result<> wipe_ring(const Ring& lane) {
    const auto all = lane.memory.all();
    const Area& in = lane.layout.in;
    for (uint32_t slot = 0; slot < in.slots; ++slot) {
        for (size_t at = in.slot(slot); at < in.slot(slot) + in.size; ++at)
            all[at] = std::byte{poison(at)};
    }
    return lane.memory.push(in);
}

Result<Checked> check_ring(const Ring& lane, const Round& round) {
    TRY(lane.memory.pull(lane.layout.in));
    Checked checked;
    const uint32_t slots = round.left == 0 ? lane.point.slots : round.left;
    for (uint32_t slot = 0; slot < slots; ++slot)
        check_slot(lane, round, slot, slot, checked);
    check_bands(lane, round, checked);
    if (round.left != 0 && checked.wrong)
        checked.wrong->mismatch.kind += ", after the measurement";
    return checked;
}

void Look::at(const Ring& lane, uint32_t slot, uint32_t number, bool has_come) {
    const Area& in = lane.layout.in;
    if (!lane.memory.pull(in, slot))
        return;
    copy.resize((in.size + 7) / sizeof(uint64_t));
    copy_live(lane.memory.slot(in, slot).data(), copy);
    const auto data = std::as_bytes(std::span(copy)).first(in.size);
    const uint64_t message = first_message(lane, round) + number;
    auto wrong = check_pattern(data, key_of(lane, round, message));
    if (wrong && !has_come && wrong->got == poison(in.slot(slot) + wrong->offset))
        return;
    ++found.sampled;
    if (!wrong)
        return;
    wrong->kind += ", under load";
    note(found, lane, message, *wrong);
}

template <class L>
Result<Checked> collect_round(const Seat<L>& seat, Waiting waiting, const Round& round) {
    L& lane = seat.lane;
    const Point& point = lane.point;
    const bool loses = !is_reliable(point.transport);
    Arrivals arrivals;
    arrivals.seen.resize(point.slots);
    if (loses)
        waiting.patience = std::min(waiting.patience, kFirstPatience);
    Result<> done;
    if (due_of(point, round) != 0)
        done = take_until(lane, waiting, [&](const ibv_wc& wc, auto& completer) -> Result<bool> {
            const bool all = TRY(take_arrival(seat, round, wc, arrivals));
            if (loses && arrivals.came != 0)
                completer.be_patient_for(std::min(waiting.patience, kLossPatience));
            return all;
        });
    Checked& checked = arrivals.checked;
    if (!done && loses && done.error().code == Code::Timeout)
        checked.lost = due_of(point, round) - arrivals.came;
    else
        TRY(std::move(done));
    lane.missing += static_cast<int64_t>(checked.lost);
    if (arrives_by_credit(point) || round.left != 0) {
        checked = TRY(check_ring(lane, round));
    } else {
        TRY(lane.memory.pull(lane.layout.in));
        check_bands(lane, round, checked);
    }
    TRY(outcome_of(lane.post_receives(arrivals.came), "post receives"));
    return checked;
}

Result<Checked> fetch_round(const Seat<Lane>& seat, const Waiting& waiting, const Round& round) {
    Lane& lane = seat.lane;
    if (is_atomic(lane.point.verb))
        exchange_words(lane, round);
    if (round.left == 0)
        TRY(send_ring(seat, waiting, round));
    return check_ring(lane, round);
}

template Result<> emit_round(const Seat<Lane>&, const Waiting&, const Round&);
template Result<> emit_round(const Seat<TcpLane>&, const Waiting&, const Round&);
template Result<Checked> collect_round(const Seat<Lane>&, Waiting, const Round&);
template Result<Checked> collect_round(const Seat<TcpLane>&, Waiting, const Round&);

void add(Checked& total, const Checked& more) {
    total.messages += more.messages;
    total.bytes += more.bytes;
    total.lost += more.lost;
    total.sampled += more.sampled;
    if (!total.wrong)
        total.wrong = more.wrong;
}

}  // namespace perf
