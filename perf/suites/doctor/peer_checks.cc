// SPDX-License-Identifier: Apache-2.0
// What rdma-hook said it attached, and the way to the peer.
#include <algorithm>

#include <fmt/format.h>

#include "perf/base/names.h"
#include "perf/suites/doctor/doctor.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
// Why the attach failed, if attach.json says that it did.
std::optional<std::string> failed_attach(const std::string& text) {
    const auto json = base::parse_json(text, "attach.json");
    if (!json || required<bool>(*json, "attached").has_value() == false)
        return std::nullopt;
    if (*required<bool>(*json, "attached"))
        return std::nullopt;
    const auto error = base::optional_member<std::string>(*json, "error", "no reason is given");
    return printable(error ? *error : "no reason is given", 300);
}

Finding judge_attached(const Scene& scene, const AttachedGid& named) {
    const auto& rows = scene.found.tables.rows;
    const std::string what =
        fmt::format("{} with GID {}", printable(named.device), named.gid.text());
    const auto it = std::ranges::find(rows, named.gid, &GidRow::gid);
    if (it == rows.end())
        return {Status::Fail,
                "attach.json names " + what + ", which no table has: stale, or the address is gone",
                "start the container again; on the host: rdmactl show CONTAINER"};
    const bool there = std::ranges::any_of(rows, [&](const GidRow& row) {
        return row.gid == named.gid && row.device == named.device;
    });
    if (!there)
        return {Status::Warning,
                fmt::format("attach.json names {}, the GID is on {}: renamed since?",
                            what,
                            printable(it->device)),
                "nothing, the value counts; RDMA_DEVICE of this container is wrong"};
    return {Status::Ok, "attach.json agrees: " + what, ""};
}

std::string texts(const std::vector<Address>& addresses) {
    std::vector<std::string> words;
    for (const Address& address : addresses)
        words.push_back(address.text());
    return joined(words);
}
}  // namespace

Findings check_attachment(const Scene& scene) {
    const auto text = read_small(scene.attach_file);
    if (!text)
        return skipped(
            "no attach.json that can be read: rdma-hook attached nothing to this container");
    const auto gids = parse_attach_file(*text);
    if (!gids)
        return fail("attach.json cannot be used: " + gids.error().message(),
                    "start the container again");
    if (const auto reason = failed_attach(*text))
        return fail(
            "rdma-hook could not attach, and rdma.optional let the container start: " + *reason,
            "on the host: rdmactl list --failed");
    Findings out;
    for (const AttachedGid& named : *gids)
        out.push_back(judge_attached(scene, named));
    return out.empty() ? skipped("attach.json names no GID") : out;
}

Findings check_route(const Scene& scene) {
    if (!scene.peer)
        return skipped("no --peer");
    if (scene.peer->route_error)
        return fail(without_fix(*scene.peer->route_error),
                    "see name and `ip route` in this container");
    const auto is_gid = [&](const Address& source) {
        return std::ranges::any_of(scene.found.tables.rows, [&](const GidRow& row) {
            return row.gid == source && row.type != GidType::RoceV1;
        });
    };
    const auto& sources = scene.peer->sources;
    const std::string seen = "the route to the peer starts at " + texts(sources);
    if (std::ranges::any_of(sources, is_gid))
        return ok(seen + ", a GID of this container's device");
    if (std::ranges::all_of(sources, &Address::is_loopback))
        return ok(seen + ": the peer is in this network namespace");
    return warning(seen + ", which is no GID of a device here",
                   "name the peer by its address on the RDMA network");
}

Findings check_peer(const Scene& scene) {
    if (!scene.peer)
        return skipped("no --peer");
    if (scene.peer->route_error)
        return skipped("no way to the peer");
    if (!scene.peer->connect_error)
        return ok(fmt::format(
            "{} port {} accepts connections", printable(scene.peer->host), scene.peer->port));
    return fail(without_fix(*scene.peer->connect_error), scene.peer->connect_error->fix);
}

}  // namespace perf
