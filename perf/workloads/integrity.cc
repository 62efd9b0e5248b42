// SPDX-License-Identifier: Apache-2.0
#include "perf/workloads/integrity.h"

#include <fmt/format.h>

namespace perf {

using base::Code;
using base::make_error;
using base::Result;

namespace {
PatternKey key_of(const Lane& lane, const Round& round, uint64_t message) {
    const auto direction = static_cast<uint16_t>(round.from == Side::Server ? 0x8000 : 0);
    return {lane.point().seed, direction, message};
}

uint64_t first_message(const Lane& lane, const Round& round) {
    return round.number * lane.point().slots;
}

std::string_view side_name(const Lane& lane) {
    return lane.side() == Side::Client ? "client" : "server";
}

void note(Checked& checked, const Lane& lane, uint64_t message, const Mismatch& mismatch) {
    if (!checked.wrong)
        checked.wrong = {std::string(side_name(lane)), message, false, mismatch};
}

void check_slot(const Lane& lane, const Round& round, uint32_t slot, Checked& checked) {
    const uint64_t message = first_message(lane, round) + checked.messages;
    const auto data = lane.memory().slot(lane.layout().in, slot);
    ++checked.messages;
    checked.bytes += data.size();
    if (const auto wrong = check_pattern(data, key_of(lane, round, message)))
        note(checked, lane, message, *wrong);
}

void check_bands(const Lane& lane, const Round& round, Checked& checked) {
    const auto hit = check_guards(lane.memory().all(), lane.layout().in);
    if (!hit || checked.wrong)
        return;
    checked.wrong = {std::string(side_name(lane)),
                     first_message(lane, round) + hit->slot,
                     true,
                     {hit->offset, hit->expected, hit->got, "stray write into a guard band"}};
}

// One SEND's receive: in which slot, and whether all of it came.
void check_arrival(const Lane& lane, const Round& round, const ibv_wc& wc, Checked& checked) {
    const Point& point = lane.point();
    if (wc.byte_len != point.size && point.verb == Verb::Send) {
        note(checked,
             lane,
             first_message(lane, round) + checked.messages,
             {wc.byte_len, 0, 0, fmt::format("a message of {} bytes", wc.byte_len)});
    }
    // WRITE with immediate came to the slot that the writer named: they are used in order.
    const auto slot = point.verb == Verb::Send ? static_cast<uint32_t>(wc.wr_id)
                                               : static_cast<uint32_t>(checked.messages);
    check_slot(lane, round, slot, checked);
}

bool arrives_by_credit(const Point& point) {
    return point.verb == Verb::Write && !is_ping_pong(point);
}

// Calls take(wc) for each of `count` completions.
template <class Take>
Result<> take_completions(Lane& lane, const Waiting& waiting, uint64_t count, Take&& take) {
    Ending end;
    end.wake = with_completer(lane.completions(), waiting, [&](auto& completer) {
        ibv_wc wc{};
        for (uint64_t taken = 0; taken < count; ++taken) {
            int got = 0;
            const Wake wake = completer.wait({&wc, 1}, got);
            if (wake != Wake::Completions)
                return wake;
            if (wc.status != IBV_WC_SUCCESS) {
                end.bad = wc;
                return wake;
            }
            take(wc);
        }
        return Wake::Completions;
    });
    if (!end.good())
        return ending_error(end, waiting);
    return {};
}

Result<> pump_ring(Lane& lane, const Waiting& waiting) {
    const Ending end = with_completer(lane.completions(), waiting, [&](auto& completer) {
        return pump(lane, completer, {.messages = lane.point().slots});
    });
    if (!end.good())
        return ending_error(end, waiting);
    return {};
}
}  // namespace

void fill_round(Lane& lane, const Round& round) {
    for (uint32_t slot = 0; slot < lane.point().slots; ++slot)
        fill_pattern(lane.memory().slot(lane.layout().out, slot),
                     key_of(lane, round, first_message(lane, round) + slot));
}

Result<> emit_round(Lane& lane, const Waiting& waiting, const Round& round) {
    fill_round(lane, round);
    TRY(pump_ring(lane, waiting));
    if (!arrives_by_credit(lane.point()))
        return {};
    if (const int rc = lane.post_credit(); rc != 0)
        return base::sys_error(rc, "post the credit");
    return take_completions(lane, waiting, 1, [](const ibv_wc&) {});
}

Result<Checked> collect_round(Lane& lane, const Waiting& waiting, const Round& round) {
    Checked checked;
    const uint32_t slots = lane.point().slots;
    const bool by_credit = arrives_by_credit(lane.point());
    const uint32_t arrivals = by_credit ? 1 : slots;
    bool stray = false;
    TRY(take_completions(lane, waiting, arrivals, [&](const ibv_wc& wc) {
        stray = stray || (wc.opcode & IBV_WC_RECV) == 0;
        if (!by_credit)
            check_arrival(lane, round, wc, checked);
    }));
    if (stray)
        return make_error(Code::Internal, "a completion of a send where a receive was due");
    for (uint32_t slot = 0; by_credit && slot < slots; ++slot)
        check_slot(lane, round, slot, checked);
    check_bands(lane, round, checked);
    if (const int rc = lane.post_receives(arrivals); rc != 0)
        return base::sys_error(rc, "post receives");
    return checked;
}

Result<Checked> fetch_round(Lane& lane, const Waiting& waiting, const Round& round) {
    TRY(pump_ring(lane, waiting));
    Checked checked;
    for (uint32_t slot = 0; slot < lane.point().slots; ++slot)
        check_slot(lane, round, slot, checked);
    check_bands(lane, round, checked);
    return checked;
}

void add(Checked& total, const Checked& more) {
    total.messages += more.messages;
    total.bytes += more.bytes;
    if (!total.wrong)
        total.wrong = more.wrong;
}

}  // namespace perf
