// SPDX-License-Identifier: Apache-2.0
// What the server's device has to refuse, or drop without a word: one-sided requests to its memory,
// and datagrams with a wrong queue key. Each check runs with the right key before and after, so
// that a refusal means the key and not the connection.
#include <algorithm>

#include <fmt/format.h>

#include "perf/suites/isolate/isolate.h"

namespace perf {

namespace {
constexpr std::string_view kDistrust =
    "do not trust one-sided access on this device: report it with kernel and driver version";

// The answers that a responder gives to what it does not allow (IBTA 1.7, 9.7.5.2.4 and 9.9.3).
bool is_refusal(ibv_wc_status status) {
    return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR;
}

// What an attempt came to; empty if it failed without a trace.
Result<std::string> breach_of(Arena& arena, ibv_wc_status status) {
    if (const auto damage = TRY(arena.damage()))
        return fmt::format(
            "the server's memory has changed at byte {} ({:#04x} instead of {:#04x})",
            damage->offset,
            damage->got,
            damage->expected);
    if (arena.leaked())
        return std::string("bytes of the server came over");
    return std::string(status == IBV_WC_SUCCESS ? "no refusal" : "");
}

Result<Outcome> must_be_refused(Arena& arena, std::initializer_list<Aim> aims) {
    TRY(arena.control_run().context("control run before"));
    Outcome outcome;
    for (const Aim& aim : aims) {
        const ibv_wc_status status = TRY(arena.attempt(aim));
        const std::string breach = TRY(breach_of(arena, status));
        outcome.observed += fmt::format("{}{}: {}{}",
                                        outcome.observed.empty() ? "" : "; ",
                                        aim.opcode == IBV_WR_RDMA_READ ? "read" : "write",
                                        ::ibv_wc_status_str(status),
                                        breach.empty() ? "" : ", " + breach);
        if (!breach.empty())
            outcome.verdict = IsolationVerdict::Fail;
        // A provider may call a refusal by another name: no barrier was passed, but the refusal is
        // not the one that the standard asks for.
        else if (!is_refusal(status) && outcome.verdict == IsolationVerdict::Pass)
            outcome.verdict = IsolationVerdict::Finding;
    }
    if (outcome.verdict == IsolationVerdict::Fail)
        outcome.fix = kDistrust;
    else
        outcome.observed += "; memory unchanged";
    TRY(arena.control_run().context("control run after"));
    return outcome;
}

// A write and a read with that key.
Result<Outcome> refuse_key(Arena& arena, uint32_t rkey) {
    const uint64_t address = arena.exposure().address;
    return must_be_refused(arena,
                           {{IBV_WR_RDMA_WRITE, rkey, address}, {IBV_WR_RDMA_READ, rkey, address}});
}

// A write and a read with the right key that begin there. One byte of the request is outside: the
// nearest miss that there is.
Result<Outcome> refuse_range(Arena& arena, uint64_t address) {
    const uint32_t rkey = arena.exposure().rkey;
    return must_be_refused(arena,
                           {{IBV_WR_RDMA_WRITE, rkey, address}, {IBV_WR_RDMA_READ, rkey, address}});
}

Result<Outcome> refuse_behind(Arena& arena) {
    const Exposure& page = arena.exposure();
    return refuse_range(arena, page.address + page.length - kAimLength + 1);
}

Result<Outcome> refuse_writing(Arena& arena) {
    const Exposure& page = arena.exposure();
    return must_be_refused(arena, {{IBV_WR_RDMA_WRITE, page.read_only_rkey, page.address}});
}

constexpr uint32_t kRounds = 5;  // any datagram may get lost

bool has(const std::vector<uint32_t>& heard, uint32_t number) {
    return std::ranges::find(heard, number) != heard.end();
}

constexpr std::string_view kRefused = "refused as a remote access error, memory unchanged";
constexpr IsolationCheck kRemoteChecks[] = {
    {"wrong_key", kRefused, [](Arena& a) { return refuse_key(a, ~a.exposure().rkey); }},
    {"next_key", kRefused, [](Arena& a) { return refuse_key(a, a.exposure().rkey + 1); }},
    {"previous_key", kRefused, [](Arena& a) { return refuse_key(a, a.exposure().rkey - 1); }},
    {"stale_key", kRefused, [](Arena& a) { return refuse_key(a, a.exposure().stale_rkey); }},
    {"before_range", kRefused, [](Arena& a) { return refuse_range(a, a.exposure().address - 1); }},
    {"behind_range", kRefused, refuse_behind},
    {"read_only", kRefused, refuse_writing},
    {"other_domain",
     kRefused,
     [](Arena& a) { return refuse_key(a, a.exposure().other_domain_rkey); }},
    {"queue_key", "a datagram with a wrong queue key is dropped", check_queue_key},
};
}  // namespace

Result<Outcome> check_queue_key(Arena& arena) {
    const Listening there = TRY(arena.listen());
    Link speaker = TRY(Link::create(arena.device(), {.type = IBV_QPT_UD}));
    TRY(speaker.connect(arena.peer(), {}));
    const auto to = TRY(make_address_handle(speaker.end(), arena.device().pd.get(), arena.peer()));
    const auto say = [&](uint32_t key, uint32_t number) {
        return arena.say(speaker, to.get(), there, key, number);
    };
    for (uint32_t i = 0; i < kRounds; ++i) {
        // Three datagrams of successive numbers: right key, wrong key, right key.
        const uint32_t first = 3 * i + 1;
        TRY(say(there.queue_key, first));
        TRY(say(there.queue_key ^ 1U, first + 1));
        TRY(say(there.queue_key, first + 2));
        const auto heard = TRY(arena.hear(first + 2));
        if (has(heard, first + 1))
            return Outcome{IsolationVerdict::Fail,
                           "a datagram with a wrong queue key was delivered",
                           "do not trust queue keys on this device: report it with kernel and "
                           "driver version"};
        if (has(heard, first) && has(heard, first + 2))
            return Outcome{IsolationVerdict::Pass,
                           "dropped, while those with the right key before and after it came"};
    }
    return make_error(Code::Unsupported,
                      fmt::format("of {} rounds of datagrams none came whole", kRounds))
        .advise("see whether datagrams work at all: rdma-perf run --transport ud --verb send");
}

std::span<const IsolationCheck> remote_checks() {
    return kRemoteChecks;
}

}  // namespace perf
