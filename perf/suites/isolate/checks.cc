// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cmath>

#include <fmt/format.h>
#include <sys/resource.h>

#include "perf/suites/isolate/isolate.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
// ---- devices and GIDs of others -----------------------------------------------------------------
constexpr unsigned kCapNetRaw = 13;
constexpr uint32_t kAnyMtu = 256;  // every port can do it
constexpr ibv_qp_cap kOneOfEach = {1, 1, 1, 1, 0};

std::string why_not(int number) {
    return sys_error(number, "").message();
}

std::string words_for(const GidRow& row) {
    return fmt::format("{} (index {} of {})", row.gid.text(), row.index, row.device);
}

template <class Items, class Text = std::identity>
std::string some_of(const Items& items, Text text = {}) {
    constexpr size_t kShown = 3;
    const std::string out = joined(std::span(items).first(std::min(items.size(), kShown)), text);
    return items.size() <= kShown ? out : out + fmt::format(" and {} more", items.size() - kShown);
}

// Whether a queue pair gets to RTR with that GID as its source. It is aimed at the GID itself: the
// way there is always known, so that a refusal is none of routing; and nothing is sent.
Result<> reach_rtr(Verbs& verbs, ibv_context* context, ibv_pd* pd, const GidRow& row) {
    const CompletionQueue queue = TRY(create_cq(verbs, context, 1));
    ibv_qp_cap caps = kOneOfEach;
    const auto qp = TRY(create_qp(verbs, pd, queue.cq.get(), IBV_QPT_RC, caps));
    End end{.verbs = &verbs, .own = {}};
    end.own.device = row.device;
    end.own.port = row.port;
    end.own.gid_index = row.index;
    end.own.gid = row.gid;
    TRY(to_init(end, qp.get(), 0, 0));
    return to_rtr(end, qp.get(), end.own, {.qpn = qp->qp_num}, kAnyMtu);
}

Result<> try_source(const Arena& arena, const GidRow& row) {
    const Device& own = arena.device();
    if (row.device == own.info.device)
        return reach_rtr(arena.verbs(), own.context.get(), own.pd.get(), row);
    const auto context = TRY(open_device(arena.verbs(), row.device));
    const auto pd = TRY(alloc_pd(arena.verbs(), context.get()));
    return reach_rtr(arena.verbs(), context.get(), pd.get(), row);
}

Result<Outcome> check_foreign_devices(Arena& arena) {
    const auto& names = arena.foreign_devices();
    if (names.empty())
        return Outcome{IsolationVerdict::Pass, "no device but this container's own is to be seen"};
    std::vector<std::string> opened;
    std::vector<std::string> refused;
    for (const std::string& name : names) {
        const auto context = open_device(arena.verbs(), name);
        const std::string shown = printable(name);
        if (context)
            opened.push_back(shown);
        else
            refused.push_back(fmt::format("{} ({})", shown, why_not(context.error().sys)));
    }
    if (opened.empty())
        return Outcome{IsolationVerdict::Pass, "seen, and cannot be opened: " + some_of(refused)};
    return Outcome{IsolationVerdict::Fail,
                   "can be opened: " + some_of(opened),
                   "give the container its own node of /dev/infiniband only (rdma-hook does), or "
                   "use RDMA namespace mode exclusive; a container with --privileged sees all"};
}

Result<Outcome> check_foreign_gids(Arena& arena) {
    const auto& rows = arena.foreign_gids();
    if (rows.empty())
        return Outcome{IsolationVerdict::Pass, "0 foreign GIDs"};
    return Outcome{IsolationVerdict::Finding,
                   fmt::format("{} foreign GIDs: {}", rows.size(), some_of(rows, words_for)),
                   "the kernel shows the tables of a shared device to everybody: a device of the "
                   "container's own (rdma.mode=softroce) has none"};
}

Result<Outcome> check_foreign_source(Arena& arena) {
    constexpr size_t kMaxSources = 8;
    // Link-local ones need an interface to be reached, v1 ones are the same addresses once more.
    std::vector<GidRow> rows = arena.foreign_gids();
    std::erase_if(rows, [](const GidRow& row) {
        return row.type != GidType::RoceV2 || row.gid.is_link_local() || !row.port_active ||
               row.index > UINT8_MAX;
    });
    rows.resize(std::min(rows.size(), kMaxSources));
    if (rows.empty())
        return Outcome{IsolationVerdict::NotApplicable, "no foreign GID that could be tried"};
    const DeviceInfo& self = arena.device().info;
    const GidRow own_row{.device = self.device,
                         .port = self.port,
                         .index = self.gid_index,
                         .gid = self.gid,
                         .netdev = self.netdev};
    if (auto own = try_source(arena, own_row); !own)
        return make_error(Code::Unsupported,
                          "even its own GID cannot be a source: " + own.error().message())
            .advise("see whether data passes at all: rdma-perf run");
    std::vector<GidRow> usable;
    std::string refusal;
    for (const GidRow& row : rows) {
        auto reached = try_source(arena, row);
        if (reached)
            usable.push_back(row);
        else
            refusal = why_not(reached.error().sys);
    }
    if (usable.empty())
        return Outcome{IsolationVerdict::Pass,
                       fmt::format("refused for {} foreign GIDs: {}", rows.size(), refusal)};
    return Outcome{IsolationVerdict::Fail,
                   "a queue pair reaches RTR with the source " + some_of(usable, words_for),
                   "upstream kernels check this nowhere: only a device of the container's own "
                   "keeps others from using its addresses"};
}

Result<Outcome> check_raw_packets(Arena& arena) {
    if (has_capability(arena.root(), kCapNetRaw))
        return Outcome{IsolationVerdict::NotApplicable, "this process has CAP_NET_RAW"};
    const Device& device = arena.device();
    const CompletionQueue queue = TRY(create_cq(arena.verbs(), device.context.get(), 1));
    ibv_qp_cap caps = kOneOfEach;
    const auto qp =
        create_qp(arena.verbs(), device.pd.get(), queue.cq.get(), IBV_QPT_RAW_PACKET, caps);
    if (qp)
        return Outcome{IsolationVerdict::Fail,
                       "a queue pair for raw packets was made",
                       "report it: the kernel has to ask for CAP_NET_RAW"};
    const int number = qp.error().sys;
    const bool refused = number == EPERM || number == EACCES;
    return Outcome{refused ? IsolationVerdict::Pass : IsolationVerdict::NotApplicable,
                   refused ? why_not(number) : "the device has none: " + why_not(number)};
}

// ---- own memory and its keys --------------------------------------------------------------------
constexpr rlim_t kLowLimit = 64 * 1024;
constexpr size_t kAboveLimit = 1U << 20U;
constexpr size_t kKeys = 256;
constexpr size_t kFewKeys = 64;
// Beyond this a guess at every packet of a fast link takes seconds, and each one costs the guesser
// its queue pair.
constexpr double kEnoughBits = 24;

Result<Memory> map_bytes(uint32_t size) {
    return Memory::map(layout_of({.verb = Verb::Write, .size = size, .slots = 1}, Side::Server));
}

Result<Outcome> check_memory_limit(Arena& arena) {
    if (may_lock_anything(arena.root()))
        return Outcome{IsolationVerdict::NotApplicable, "CAP_IPC_LOCK lifts the limit"};
    const Memory memory = TRY(map_bytes(kAboveLimit));
    const auto try_bytes = [&](size_t size) {
        return register_memory(arena.verbs(), arena.device().pd.get(), memory.all().first(size), 0);
    };
    rlimit before{};
    const bool known = ::getrlimit(RLIMIT_MEMLOCK, &before) == 0;
    const rlimit low{std::min(kLowLimit, before.rlim_max), before.rlim_max};
    if (!known || ::setrlimit(RLIMIT_MEMLOCK, &low) != 0)
        return Outcome{IsolationVerdict::NotApplicable, "RLIMIT_MEMLOCK cannot be changed here"};
    const auto above = try_bytes(kAboveLimit);
    (void)::setrlimit(RLIMIT_MEMLOCK, &before);
    const int refusal = above ? 0 : above.error().sys;
    if (refusal == 0)
        return Outcome{IsolationVerdict::Fail,
                       "1 MiB was registered with RLIMIT_MEMLOCK at 64 KiB",
                       "report it: the driver does not account what it pins"};
    const auto after = try_bytes(4096);
    if (!after)
        return Outcome{IsolationVerdict::Fail,
                       "after the refusal nothing can be registered: " + after.error().message(),
                       "raise RLIMIT_MEMLOCK (rdma.memlock=unlimited) and see whether it lasts"};
    return Outcome{
        refusal == ENOMEM || refusal == EAGAIN ? IsolationVerdict::Pass : IsolationVerdict::Finding,
        fmt::format("refused with: {}; a page can be registered afterwards", why_not(refusal))};
}

Result<Outcome> check_key_guessing(Arena& arena) {
    const Memory memory = TRY(map_bytes(4096));
    std::vector<Owned<ibv_mr>> regions;
    std::vector<uint32_t> keys;
    while (keys.size() < kKeys) {
        auto region = register_memory(
            arena.verbs(), arena.device().pd.get(), memory.all(), IBV_ACCESS_REMOTE_READ);
        if (!region)
            break;
        keys.push_back((*region)->rkey);
        regions.push_back(std::move(*region));
    }
    if (keys.size() < kFewKeys)
        return Outcome{IsolationVerdict::NotApplicable,
                       fmt::format("only {} regions can be registered: too few", keys.size())};
    const double bits = unknown_bits(keys);
    const bool enough = bits >= kEnoughBits;
    return Outcome{enough ? IsolationVerdict::Pass : IsolationVerdict::Finding,
                   fmt::format("one of {} keys leaves at most {:.1f} of 32 bits of the next one to "
                               "guess (such as {:#x}, {:#x}, {:#x})",
                               keys.size(),
                               bits,
                               keys[0],
                               keys[1],
                               keys[2]),
                   enough ? ""
                          : "keys are no secret on this device: what protects memory is that a "
                            "connection is needed, and its protection domain"};
}

// ---- the server's memory, and datagrams to it ---------------------------------------------------
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

// Each check runs with the right key before and after, so that a refusal means the key and not the
// connection.
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
        // The answers of a responder to what it does not allow (IBTA 1.7, 9.7.5.2.4 and 9.9.3).
        const bool refused = status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR;
        if (!breach.empty())
            outcome.verdict = IsolationVerdict::Fail;
        // A provider may call a refusal by another name: no barrier was passed, but the refusal is
        // not the one that the standard asks for.
        else if (!refused && outcome.verdict == IsolationVerdict::Pass)
            outcome.verdict = IsolationVerdict::Finding;
    }
    if (outcome.verdict == IsolationVerdict::Fail)
        outcome.fix =
            "do not trust one-sided access on this device: report it with kernel and driver "
            "version";
    else
        outcome.observed += "; memory unchanged";
    TRY(arena.control_run().context("control run after"));
    return outcome;
}

Result<Outcome> refuse(Arena& arena, uint32_t rkey, uint64_t offset = 0) {
    const uint64_t address = arena.exposure().address + offset;
    return must_be_refused(arena,
                           {{IBV_WR_RDMA_WRITE, rkey, address}, {IBV_WR_RDMA_READ, rkey, address}});
}

Result<Outcome> check_queue_key(Arena& arena) {
    constexpr uint32_t kRounds = 5;  // any datagram may get lost
    const Json listening = TRY(arena.ask("listen", Json::object(), "listening"));
    const Listening there = TRY(parse<Listening>(listening));
    Link speaker = TRY(Link::create(arena.device(), {.type = IBV_QPT_UD}));
    TRY(speaker.connect(arena.peer(), {}));
    const auto to = TRY(make_address_handle(speaker.end(), arena.device().pd.get(), arena.peer()));
    const auto say = [&](uint32_t key, uint32_t number) {
        return arena.say(speaker, to.get(), there, key, number);
    };
    for (uint32_t i = 0; i < kRounds; ++i) {
        const uint32_t first = 3 * i + 1;
        TRY(say(there.queue_key, first));
        TRY(say(there.queue_key ^ 1U, first + 1));
        TRY(say(there.queue_key, first + 2));
        const auto heard = TRY(arena.hear(first + 2));
        const auto came = [&](uint32_t number) { return std::ranges::count(heard, number) != 0; };
        if (came(first + 1))
            return Outcome{IsolationVerdict::Fail,
                           "a datagram with a wrong queue key was delivered",
                           "do not trust queue keys on this device: report it with kernel and "
                           "driver version"};
        if (came(first) && came(first + 2))
            return Outcome{IsolationVerdict::Pass,
                           "dropped, while those with the right key before and after it came"};
    }
    return make_error(Code::Unsupported, "of {} rounds of datagrams none came whole", kRounds)
        .advise("see whether datagrams work at all: rdma-perf run --transport ud --verb send");
}

constexpr std::string_view kRefused = "refused as a remote access error, memory unchanged";
// First what only looks at this side.
constexpr IsolationCheck kIsolationTable[] = {
    {"foreign_devices", "devices of others cannot be opened", check_foreign_devices},
    {"foreign_gids", "GIDs of others are not shown", check_foreign_gids},
    {"foreign_source", "no queue pair gets another's GID as its source", check_foreign_source},
    {"raw_packets", "refused without CAP_NET_RAW", check_raw_packets},
    {"memory_limit", "a clean error beyond RLIMIT_MEMLOCK", check_memory_limit},
    {"key_guessing", "at least 24 bits of a key are unknown", check_key_guessing},
    {"wrong_key", kRefused, [](Arena& a) { return refuse(a, ~a.exposure().rkey); }},
    {"next_key", kRefused, [](Arena& a) { return refuse(a, a.exposure().rkey + 1); }},
    {"previous_key", kRefused, [](Arena& a) { return refuse(a, a.exposure().rkey - 1); }},
    {"stale_key", kRefused, [](Arena& a) { return refuse(a, a.exposure().stale_rkey); }},
    // One byte of the request is outside: the nearest miss that there is.
    {"before_range",
     kRefused,
     [](Arena& a) { return refuse(a, a.exposure().rkey, uint64_t{0} - 1); }},
    {"behind_range",
     kRefused,
     [](Arena& a) { return refuse(a, a.exposure().rkey, a.exposure().length - kAimLength + 1); }},
    {"read_only",
     kRefused,
     [](Arena& a) {
         const Exposure& page = a.exposure();
         return must_be_refused(a, {{IBV_WR_RDMA_WRITE, page.read_only_rkey, page.address}});
     }},
    {"other_domain", kRefused, [](Arena& a) { return refuse(a, a.exposure().other_domain_rkey); }},
    {"queue_key", "a datagram with a wrong queue key is dropped", check_queue_key},
};
}  // namespace

double unknown_bits(std::span<const uint32_t> keys) {
    if (keys.size() < 2)
        return 0;
    const auto count = static_cast<double>(keys.size() - 1);
    double sum = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
        size_t ones = 0;
        for (size_t i = 1; i < keys.size(); ++i)
            ones += ((keys[i] - keys[i - 1]) >> bit) & 1U;
        const double share = static_cast<double>(ones) / count;
        if (share > 0 && share < 1)
            sum -= share * std::log2(share) + (1 - share) * std::log2(1 - share);
    }
    return sum;
}

const std::span<const IsolationCheck> kIsolationChecks = kIsolationTable;

}  // namespace perf
