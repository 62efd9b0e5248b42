// SPDX-License-Identifier: Apache-2.0
// Is there an RDMA device, is its node given to this container, and can it be opened? What rdma-hook
// said it attached, and the way to the peer.
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>

#include "perf/suites/doctor/doctor.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr std::string_view kNodes = "/dev/infiniband";
constexpr std::string_view kAttach =
    "start the container with rdma.mode=softroce (or another mode of rdma-hook), or give it the "
    "node: podman run --device /dev/infiniband/uverbs0";

// 0, or the errno of opening a node as libibverbs does. A node's open changes nothing.
int try_node(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return fd ? 0 : errno;
}

Finding refused_node(const std::string& path, int number, Status status) {
    const std::string why = fmt::format("open {}: {}", path, sys_error(number, "").message());
    switch (number) {
        case EPERM:
            return {status,
                    why,
                    "the cgroup of this container forbids the device, or the device belongs to "
                    "another network namespace: start the container with --device, or with "
                    "rdma-hook's annotations"};
        case EACCES:
            return {status, why, "on the host: chmod 0666 " + path + ", or run as its owner"};
        case ENXIO:
        case ENODEV:
            return {status, why, "the device has gone: start the container again"};
        default:
            return {status, why, "see `ls -l /dev/infiniband` in this container"};
    }
}

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

Findings check_kernel(const Scene& scene) {
    const auto devices = read_names(scene.root + "/sys/class/infiniband");
    if (!devices)
        return fail("/sys/class/infiniband is not there: no RDMA module is loaded",
                    "on the host: modprobe rdma_rxe, or the driver of its RDMA adapter");
    if (devices->empty())
        return fail("/sys/class/infiniband is empty: no RDMA device",
                    "on the host: rdma link add rxe0 type rxe netdev eth0, or start the container "
                    "with rdma.mode=softroce");
    return ok("devices of this kernel: " + joined(*devices));
}

Findings check_nodes(const Scene& scene) {
    const std::string folder = scene.root + std::string(kNodes);
    auto names = read_names(folder);
    if (names)
        std::erase_if(*names, [](const std::string& name) { return !name.starts_with("uverbs"); });
    if (!names || names->empty())
        return fail(fmt::format("no uverbs node in {}", kNodes), std::string(kAttach));
    std::vector<std::string> usable;
    std::vector<std::pair<std::string, int>> refused;
    for (const std::string& name : *names) {
        const int number = try_node(folder + "/" + name);
        if (number == 0)
            usable.push_back(name);
        else
            refused.emplace_back(name, number);
    }
    Findings out;
    if (!usable.empty())
        out = ok(fmt::format("can be opened in {}: {}", kNodes, joined(usable)));
    for (const auto& [name, number] : refused)
        out.push_back(refused_node(fmt::format("{}/{}", kNodes, name),
                                   number,
                                   usable.empty() ? Status::Fail : Status::Warning));
    return out;
}

Findings check_rdma_cm(const Scene& scene) {
    const std::string path = std::string(kNodes) + "/rdma_cm";
    const int number = try_node(scene.root + path);
    if (number == 0)
        return ok(path + " can be opened");
    if (number == ENOENT)
        return warning(path + " is not there: rdma_connect and iWARP cannot work, verbs can",
                       "on the host: modprobe rdma_ucm; then start the container again");
    return {refused_node(path, number, Status::Warning)};
}

Findings check_abi(const Scene& scene) {
    constexpr uint64_t kKnown = 6;  // IB_USER_VERBS_ABI_VERSION since 2005
    const auto text = read_line(scene.root + "/sys/class/infiniband_verbs/abi_version");
    if (!text)
        return fail("/sys/class/infiniband_verbs/abi_version cannot be read: no user verbs",
                    "on the host: modprobe ib_uverbs; in the container: /sys must be mounted");
    if (number_of(*text) == kKnown)
        return ok("user verbs ABI " + *text);
    return warning("user verbs ABI '" + *text + "' is not the known one, 6",
                   "use an rdma-core that is as new as the kernel");
}

Findings check_libibverbs(const Scene& scene) {
    if (scene.verbs_error)
        return fail("libibverbs: " + without_fix(*scene.verbs_error),
                    "on the host: modprobe ib_uverbs");
    std::vector<std::string> names;
    for (const DeviceFacts& device : scene.devices)
        names.push_back(printable(device.name));
    if (!names.empty())
        return ok("libibverbs finds " + joined(names));
    const auto kernel = read_names(scene.root + "/sys/class/infiniband");
    if (!kernel || kernel->empty())
        return fail("libibverbs finds no device", "see the lines above");
    return fail("the kernel has devices, libibverbs finds none: no node for them, or no provider",
                "install the providers in the image (Debian: ibverbs-providers; Fedora: "
                "libibverbs), and see the line of the nodes");
}

Findings check_access(const Scene& scene) {
    if (scene.devices.empty())
        return skipped("no device to be opened");
    const bool any = std::ranges::any_of(scene.devices, [](const auto& d) { return !d.error; });
    Findings out;
    for (const DeviceFacts& device : scene.devices) {
        if (!device.error)
            continue;
        const bool foreign = device.error->sys == EPERM;
        out.push_back(
            {any ? Status::Warning : Status::Fail,
             without_fix(*device.error) +
                 (foreign ? ": of another network namespace (RDMA namespace mode exclusive), "
                            "or denied by the device cgroup"
                          : ""),
             foreign ? "use a device of this container (rdma dev), or on the host: rdma "
                       "dev set NAME netns PID"
                     : device.error->fix});
    }
    return out.empty() ? ok("every device can be opened") : out;
}

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
