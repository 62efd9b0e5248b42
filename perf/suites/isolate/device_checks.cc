// SPDX-License-Identifier: Apache-2.0
// What is shown of other containers' devices and GIDs, and whether it can be used.
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "perf/suites/isolate/isolate.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr unsigned kCapNetRaw = 13;
constexpr size_t kMaxSources = 8;
constexpr uint32_t kAnyMtu = 256;  // every port can do it

std::string why_not(int number) {
    return sys_error(number, "").message();
}

std::string words_for(const GidRow& row) {
    return fmt::format("{} (index {} of {})", row.gid.text(), row.index, row.device);
}

// Up to three of them, and how many there are.
template <class Items, class Text>
std::string some_of(const Items& items, Text text) {
    constexpr size_t kShown = 3;
    std::string out;
    for (size_t i = 0; i < std::min(items.size(), kShown); ++i)
        out += (i == 0 ? "" : ", ") + text(items[i]);
    return items.size() <= kShown ? out : out + fmt::format(" and {} more", items.size() - kShown);
}

// Whether a queue pair gets to RTR with that GID as its source. It is aimed at the GID itself: the
// way there is always known, so that a refusal is none of routing; and nothing is sent.
Result<> reach_rtr(Verbs& verbs, ibv_context* context, ibv_pd* pd, const GidRow& row) {
    const CompletionQueue queue = TRY(create_cq(verbs, context, 1));
    ibv_qp_cap caps{};
    caps.max_send_wr = caps.max_recv_wr = caps.max_send_sge = caps.max_recv_sge = 1;
    const auto qp = TRY(create_qp(verbs, pd, queue.cq.get(), IBV_QPT_RC, caps));
    End end{.verbs = &verbs, .own = {}, .infiniband = false};
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

GidRow own_row(const Device& device) {
    const DeviceInfo& own = device.info;
    return {.device = own.device,
            .port = own.port,
            .index = own.gid_index,
            .gid = own.gid,
            .netdev = own.netdev};
}

// Link-local ones need an interface to be reached, v1 ones are the same addresses once more.
std::vector<GidRow> sources_to_try(const Arena& arena) {
    std::vector<GidRow> rows = arena.foreign_gids();
    std::erase_if(rows, [](const GidRow& row) {
        return row.type != GidType::RoceV2 || row.gid.is_link_local() || !row.port_active ||
               row.index > UINT8_MAX;
    });
    if (rows.size() > kMaxSources)
        rows.resize(kMaxSources);
    return rows;
}
}  // namespace

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
    const auto as_it_is = [](const std::string& text) { return text; };
    if (opened.empty())
        return Outcome{IsolationVerdict::Pass,
                       "seen, and cannot be opened: " + some_of(refused, as_it_is)};
    return Outcome{IsolationVerdict::Fail,
                   "can be opened: " + some_of(opened, as_it_is),
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
    const auto rows = sources_to_try(arena);
    if (rows.empty())
        return Outcome{IsolationVerdict::NotApplicable, "no foreign GID that could be tried"};
    if (auto own = try_source(arena, own_row(arena.device())); !own)
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
    ibv_qp_cap caps{};
    caps.max_send_wr = caps.max_recv_wr = caps.max_send_sge = caps.max_recv_sge = 1;
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

}  // namespace perf
