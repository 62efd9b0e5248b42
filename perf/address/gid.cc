// SPDX-License-Identifier: Apache-2.0
#include "perf/address/gid.h"

#include <algorithm>

#include <fmt/format.h>

#include "netns/base/files.h"
#include "netns/base/json.h"

namespace perf {

namespace {
// Ranks leave room for the small differences that decide among equals.
constexpr int kAsked = 4000;
constexpr int kAttached = 3000;
constexpr int kSource = 2000;
constexpr int kInfiniBand = 1500;
constexpr int kAnyLocal = 1000;
constexpr int kLikePeer = 800;
constexpr int kOtherNetwork = 700;
constexpr int kLinkLocal = 500;

struct Judge {
    const LocalAddresses& addresses;
    const GidQuery& query;

    [[nodiscard]] int source_place(const Address& gid) const {
        const auto it = std::ranges::find(query.sources, gid);
        return it == query.sources.end() ? -1 : static_cast<int>(it - query.sources.begin());
    }

    static int nearer_by(int place) { return place < 0 ? 0 : 400 - 50 * std::min(place, 7); }

    // Adds a small plus for what makes a row the better one among rows of the same GID.
    [[nodiscard]] GidVerdict usable(int rank, const GidRow& row, std::string reason) const {
        const auto is_its = [&](const LocalAddress& local) {
            return local.address == row.gid && local.netdev == row.netdev;
        };
        if (row.type == GidType::RoceV2)
            rank += 40;
        if (!row.netdev.empty() && row.netdev_present && std::ranges::any_of(addresses, is_its))
            rank += 20;
        if (row.device == query.preferred_device)
            rank += 10;
        if (row.gid.is_v4())
            rank += 1;
        return {0, rank, std::move(reason)};
    }

    static GidVerdict unusable(std::string reason) { return {0, 0, std::move(reason)}; }

    [[nodiscard]] GidVerdict judge(const GidRow& row) const {
        if (!query.device.empty() && row.device != query.device)
            return unusable(fmt::format("not on {}, which --device asks for", query.device));
        if (query.index && row.index != *query.index)
            return unusable(fmt::format("not index {}, which --gid asks for", *query.index));
        if (row.gid.is_zero())
            return unusable("zero: an empty entry, or one of another network namespace");
        if (!row.port_active)
            return unusable("the port is not active");
        if (query.index)
            return usable(kAsked, row, "asked for with --gid");
        if (row.type == GidType::RoceV1)
            return unusable("RoCE v1 cannot be routed; the v2 entry is wanted");
        return judge_address(row);
    }

    [[nodiscard]] GidVerdict judge_address(const GidRow& row) const {
        const int source = source_place(row.gid);
        const int nearer = nearer_by(source);
        const auto named = std::ranges::find(query.attached, row.gid, &AttachedGid::gid);
        if (named != query.attached.end()) {
            // Attachment 0 before attachment 1.
            const auto place = std::min<ptrdiff_t>(named - query.attached.begin(), 30);
            return usable(kAttached + nearer - static_cast<int>(place) * 2,
                          row,
                          source < 0 ? "named by rdma-hook (attach.json or RDMA_GID)"
                                     : "named by rdma-hook, and the route's source address");
        }
        if (source >= 0)
            return usable(kSource + nearer, row, "the source address of the route to the peer");
        if (row.type == GidType::InfiniBand)
            return judge_infiniband(row);
        if (std::ranges::count(addresses, row.gid, &LocalAddress::address) == 0)
            return unusable(
                row.gid.is_link_local()
                    ? "link-local, and no interface here has it"
                    : "foreign: no interface of this network namespace has this address");
        if (row.gid.is_link_local())
            return query.link_local_peer
                       ? usable(kLikePeer, row, "link-local of this namespace, as the peer's is")
                       : usable(kLinkLocal, row, "link-local of this namespace: the last resort");
        // The peer is on this machine, or is not known (loop): any local address will do.
        if (std::ranges::all_of(query.sources, &Address::is_loopback))
            return usable(kAnyLocal, row, "an address of this namespace, and the peer is here");
        const std::string elsewhere =
            fmt::format("an address of this namespace, but the route to the peer starts at {}",
                        query.sources.front().text());
        return query.device.empty()
                   ? usable(kOtherNetwork, row, elsewhere + ": another network")
                   : usable(kAnyLocal, row, elsewhere + "; it is on the device of --device");
    }

    [[nodiscard]] GidVerdict judge_infiniband(const GidRow& row) const {
        const int later = std::min(static_cast<int>(row.index), 49);
        // The IPoIB interface of the row's port that has the first source.
        for (const Address& source : query.sources) {
            const auto ipoib = std::ranges::find_if(addresses, [&](const LocalAddress& local) {
                return local.address == source && local.device == row.device &&
                       local.port == row.port;
            });
            if (ipoib != addresses.end())
                return usable(
                    kSource + nearer_by(source_place(source)) - later,
                    row,
                    "InfiniBand port of " + ipoib->netdev + ", where the route to the peer starts");
        }
        return usable(kInfiniBand - later, row, "InfiniBand port: addressed by LID");
    }
};
}  // namespace

GidChoice choose_gid(const GidTable& rows, const LocalAddresses& addresses, const GidQuery& query) {
    const Judge judge{addresses, query};
    GidChoice choice;
    for (size_t i = 0; i < rows.size(); ++i) {
        choice.verdicts.push_back(judge.judge(rows[i]));
        choice.verdicts.back().row = i;
    }
    // The first of equals wins: the lower index of the device that comes first by name.
    const auto best = std::ranges::max_element(choice.verdicts, {}, &GidVerdict::rank);
    if (best != choice.verdicts.end() && best->rank > 0) {
        choice.chosen = best->row;
        if (best->rank < kAnyLocal)
            choice.note = fmt::format(
                "GID {} of {} is a guess ({}); --device and --gid choose, or run against an "
                "address of the RDMA network",
                rows[best->row].gid.text(),
                rows[best->row].device,
                best->reason);
    }
    for (const AttachedGid& named : query.attached) {
        if (std::ranges::find(rows, named.gid, &GidRow::gid) == rows.end())
            choice.remarks.push_back(fmt::format(
                "rdma-hook names GID {} on {}, which no table here has: stale, not used",
                named.gid.gid_text(),
                named.device.empty() ? "any device" : named.device));
    }
    return choice;
}

std::string explain(const GidTable& rows, const GidChoice& choice, const GidQuery& query) {
    std::string out;
    for (const Address& source : query.sources)
        out += fmt::format("source address towards the peer: {}\n", source.text());
    out +=
        "  device       port index  gid                                      type     netdev       "
        "verdict\n";
    for (const GidVerdict& verdict : choice.verdicts) {
        const GidRow& row = rows[verdict.row];
        const bool here = row.netdev_present;
        out += fmt::format("{} {:<12} {:>4} {:>5}  {:<39}  {:<8} {:<12} {}\n",
                           choice.chosen == verdict.row ? '*' : ' ',
                           row.device,
                           row.port,
                           row.index,
                           row.gid.gid_text(),
                           name_of(row.type),
                           row.netdev.empty() ? "?" : row.netdev + (here ? "" : " (not here)"),
                           verdict.reason);
    }
    if (rows.empty())
        out += "  no GID in any table\n";
    if (!choice.note.empty())
        out += "note: " + choice.note + "\n";
    for (const std::string& remark : choice.remarks)
        out += "note: " + remark + "\n";
    return out;
}

// ---- attachments --------------------------------------------------------------------------------
namespace {
constexpr size_t kFileLimit = 256 * 1024;
constexpr size_t kMaxAttachments = 16;  // rdma.0 to rdma.15

// RDMA device names: IB_DEVICE_NAME_MAX is 64, with the final zero.
bool is_device_name(std::string_view name) {
    const auto fine = [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '/'; };
    return !name.empty() && name.size() < 64 && std::ranges::all_of(name, fine);
}
}  // namespace

Result<std::vector<AttachedGid>> parse_attach_file(std::string_view text) {
    const Json root = TRY(base::parse_json(text, "attach.json"));
    const auto format = TRY(base::required<int64_t>(root, "format"));
    if (format != 1)
        return make_error(Code::BadInput, "format {} is not known", format);
    if (!TRY(base::required<bool>(root, "attached")))
        return std::vector<AttachedGid>{};
    const auto list = root.find("attachments");
    if (list == root.end() || !list->is_array() || list->size() > kMaxAttachments)
        return make_error(Code::BadInput, "'attachments' must be a list of at most 16");
    std::vector<AttachedGid> gids;
    for (const Json& entry : *list) {
        // An attachment whose GID was not known has none to offer.
        if (entry.is_object() && (!entry.contains("gid") || entry["gid"].is_null()))
            continue;
        auto device = TRY(base::required<std::string>(entry, "device"));
        if (!is_device_name(device))
            return make_error(Code::BadInput, "'device' is no device name: " + printable(device));
        const auto value = TRY(base::required<std::string>(entry, "gid"));
        const auto gid = parse_address(value);
        if (!gid || gid->is_zero())
            return make_error(Code::BadInput, "'gid' is no GID: " + printable(value));
        gids.push_back({std::move(device), *gid});
    }
    return gids;
}

Attachment load_attachment(const std::string& file, std::string_view device, std::string_view gid) {
    Attachment out;
    auto gids = [&]() -> Result<std::vector<AttachedGid>> {
        return parse_attach_file(TRY(base::RealFiles().read(file, kFileLimit)));
    }();
    if (gids)
        out.gids = std::move(gids).value();
    else if (!base::is_missing(gids.error()))
        out.remarks.push_back(file + " is not used: " + gids.error().message());
    if (is_device_name(device))
        out.preferred_device = device;
    else if (!device.empty())
        out.remarks.push_back("RDMA_DEVICE is no device name: " + printable(device));
    if (gid.empty())
        return out;
    const auto parsed = parse_address(gid);
    if (!parsed || parsed->is_zero())
        out.remarks.push_back("RDMA_GID is no GID: " + printable(gid));
    else if (std::ranges::find(out.gids, *parsed, &AttachedGid::gid) == out.gids.end())
        out.gids.push_back({out.preferred_device, *parsed});
    return out;
}

}  // namespace perf
