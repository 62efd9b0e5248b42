// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>

#include "perf/suites/doctor/doctor.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr std::string_view kNodes = "/dev/infiniband";

// 0, or the errno of opening a node as libibverbs does. A node's open changes nothing.
int try_node(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return fd ? 0 : errno;
}

Finding refused_node(const std::string& path, int number, Status status) {
    std::string fix = "see `ls -l /dev/infiniband` in this container";
    if (number == EPERM)
        fix =
            "the cgroup of this container forbids the device, or the device belongs to another "
            "network namespace: start the container with --device, or with rdma-hook's annotations";
    else if (number == EACCES)
        fix = "on the host: chmod 0666 " + path + ", or run as its owner";
    else if (number == ENXIO || number == ENODEV)
        fix = "the device has gone: start the container again";
    return {status, fmt::format("open {}: {}", path, sys_error(number, "").message()), fix};
}

std::optional<std::string> failed_attach(const std::string& text) {
    const auto json = base::parse_json(text, "attach.json");
    if (!json || base::optional_member<bool>(*json, "attached", true).value())
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
    return {Status::Ok, "attach.json agrees: " + what};
}

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
        return fail(
            fmt::format("no uverbs node in {}", kNodes),
            "start the container with rdma.mode=softroce (or another mode of rdma-hook), or "
            "give it the node: podman run --device /dev/infiniband/uverbs0");
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
    if (!scene.devices.empty())
        return ok("libibverbs finds " +
                  joined(scene.devices, [](const auto& d) { return printable(d.name); }));
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
    const std::string seen = "the route to the peer starts at " + joined(sources, &Address::text);
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

// ---- ports: state, netdev, MTU, GID tables, and the GID that a run would take -------------------
// What RoCE v2 puts around the payload of a packet: the least (IPv4, UDP, BTH, RETH, ICRC), and
// what drivers subtract for the worst case (GRH, UDP, BTH, XRC, atomics, ICRC).
constexpr uint32_t kLeastHeaders = 60;
constexpr uint32_t kMostHeaders = 96;
constexpr uint32_t kBestMtu = 4096;
constexpr uint32_t kNetdevMtuForBest = 4200;

std::string name_of(const std::string& device, uint8_t port) {
    return fmt::format("{} port {}", printable(device), port);
}

struct SeenPort {
    const Scene& scene;
    const DeviceFacts& device;
    const PortFacts& port;
    std::string name;
    Status bad;  // how bad trouble with it is: with a port that nobody would use, a warning
};

template <Findings (*kLook)(const SeenPort& seen)>
Findings each_port(const Scene& scene) {
    const GidRow* chosen = scene.found.chosen();
    Findings out;
    for (const DeviceFacts& device : scene.devices) {
        for (const PortFacts& port : device.ports) {
            const bool used =
                chosen == nullptr || (chosen->device == device.name && chosen->port == port.number);
            const Status bad = used ? Status::Fail : Status::Warning;
            const std::string name = name_of(device.name, port.number);
            std::ranges::move(kLook({scene, device, port, name, bad}), std::back_inserter(out));
        }
    }
    return out.empty() ? skipped("no device can be opened") : out;
}

uint32_t path_mtu_for(uint32_t netdev_mtu) {
    uint32_t mtu = kBestMtu;
    while (mtu > 256 && mtu + kMostHeaders > netdev_mtu)
        mtu /= 2;
    return mtu;
}

Findings judge_mtu(const std::string& name, uint32_t active, const Interface& netdev) {
    const std::string seen = fmt::format(
        "{}: path MTU {}, {} has MTU {}", name, active, printable(netdev.name), netdev.mtu);
    if (active + kLeastHeaders > netdev.mtu)
        return fail(seen + ": full packets do not fit",
                    fmt::format("ip link set {} mtu {}, or pass --mtu {}",
                                printable(netdev.name),
                                active + kMostHeaders,
                                path_mtu_for(netdev.mtu)));
    if (active < path_mtu_for(netdev.mtu))
        return warning(fmt::format("{}: {} would fit", seen, path_mtu_for(netdev.mtu)),
                       "make the link again, as the port did not follow its netdev (rdma link del, "
                       "add), or set the netdev's MTU again");
    if (active < kBestMtu)
        return ok(fmt::format(
            "{}; path MTU {} needs a netdev MTU of {}", seen, kBestMtu, kNetdevMtuForBest));
    return ok(seen);
}

Findings check_port(const SeenPort& seen) {
    if (seen.port.active)
        return ok(seen.name + " is active");
    return {{seen.bad,
             fmt::format("{} is not active: {}", seen.name, printable(seen.port.state)),
             "raise its netdev (ip link set up) and see cable and switch"}};
}

Findings check_netdev(const SeenPort& seen) {
    if (!seen.port.ethernet)
        return skipped(seen.name + " is InfiniBand: needs no netdev");
    const auto netdevs = seen.scene.netdevs(seen.device.name, seen.port.number);
    if (netdevs.empty())
        return {{seen.bad,
                 seen.name + ": no netdev of it is in this network namespace",
                 "attach the container to the device (rdma.mode), or on the host: ip link set "
                 "NETDEV netns PID"}};
    for (const Interface* netdev : netdevs) {
        if (netdev->up && netdev->carrier)
            return ok(fmt::format("{}: {} is up", seen.name, printable(netdev->name)));
    }
    const std::string netdev = printable(netdevs.front()->name);
    if (netdevs.front()->up)
        return {
            {seen.bad, seen.name + ": " + netdev + " has no carrier", "see its parent and cable"}};
    return {{seen.bad, seen.name + ": " + netdev + " is down", "ip link set " + netdev + " up"}};
}

Findings check_mtu(const SeenPort& seen) {
    if (!seen.port.active || !seen.port.ethernet || seen.port.active_mtu == 0)
        return skipped(seen.name + " has no MTU to compare");
    for (const Interface* netdev : seen.scene.netdevs(seen.device.name, seen.port.number)) {
        if (netdev->mtu != 0)
            return judge_mtu(seen.name, seen.port.active_mtu, *netdev);
    }
    return skipped(seen.name + ": its netdev is not here");
}

// Of adapters: a software device's netdev has none of its own.
Findings check_pfc(const SeenPort& seen) {
    if (seen.device.software || !seen.port.ethernet)
        return skipped(seen.name + " needs none");
    Findings out;
    for (const Interface* netdev : seen.scene.netdevs(seen.device.name, seen.port.number)) {
        if (!netdev->pfc) {
            out.push_back(
                {Status::Skipped,
                 fmt::format("{}: {}: see the host's", seen.name, netdev->pfc.error().message())});
            continue;
        }
        std::string priorities;
        for (unsigned priority = 0; priority < 8; ++priority) {
            if (((*netdev->pfc >> priority) & 1U) != 0)
                priorities += fmt::format(" {}", priority);
        }
        out.push_back({Status::Ok,
                       fmt::format("{}: PFC of {} is {}",
                                   seen.name,
                                   printable(netdev->name),
                                   priorities.empty() ? "off" : "on for" + priorities)});
    }
    return out.empty() ? skipped(seen.name + ": its netdev is not here, and PFC with it") : out;
}

Findings check_gid_table(const SeenPort& seen) {
    if (!seen.port.ethernet)
        return skipped(seen.name + " is InfiniBand: addressed by LID");
    if (seen.device.iwarp)
        return skipped(seen.name + " is iWARP: rdma_cm finds it by its netdev's address");
    size_t own = 0;  // of this namespace, routable, RoCE v2
    size_t link_local = 0;
    size_t version1 = 0;
    size_t foreign = 0;
    for (const GidRow& row : seen.scene.found.tables.rows) {
        if (row.device != seen.device.name || row.port != seen.port.number || row.gid.is_zero())
            continue;
        if (!seen.scene.found.tables.holds(row.gid))
            ++foreign;
        else if (row.type == GidType::RoceV1)
            ++version1;
        else if (row.gid.is_link_local())
            ++link_local;
        else
            ++own;
    }
    const std::string text =
        fmt::format("{}: {} of this namespace, {} link-local, {} RoCE v1, {} foreign",
                    seen.name,
                    own,
                    link_local,
                    version1,
                    foreign);
    if (own != 0)
        return ok(text + (foreign != 0 ? ": the device is shared" : ""));
    if (link_local != 0)
        return warning(text, "give the device's netdev an address: rdma.ip, or ip address add");
    if (version1 != 0)
        return {{seen.bad, text, "RoCE v2 is wanted: see the driver's default RoCE mode"}};
    if (foreign != 0)
        return {{seen.bad,
                 text + ": this container has no address on the device",
                 "give this container an address of the RDMA network: rdma.ip, or ip address add"}};
    return {{seen.bad,
             seen.name + ": the GID table is empty",
             "raise the device's netdev and give it an address: ip link set up, ip address add"}};
}

Findings check_grh(const SeenPort& seen) {
    if (seen.port.ethernet || seen.device.iwarp)
        return skipped(seen.name + " is Ethernet: its packets have their GID in any case");
    if (seen.port.grh)
        return ok(seen.name + " demands a GRH in each packet; rdma-perf sends it");
    return ok(seen.name + " needs no GRH within its subnet");
}

Findings check_gid(const Scene& scene) {
    const GidRow* row = scene.found.chosen();
    if (row == nullptr && std::ranges::any_of(scene.devices, &DeviceFacts::iwarp))
        return skipped("iWARP needs none");
    if (row == nullptr)
        return fail("no GID is usable; see `rdma-perf gids`", scene.found.way_out());
    const auto verdict = std::ranges::find(
        scene.found.choice.verdicts, *scene.found.choice.chosen, &GidVerdict::row);
    const std::string why = fmt::format("{} index {}: {} ({}): {}",
                                        name_of(row->device, row->port),
                                        row->index,
                                        row->gid.text(),
                                        perf::name_of(row->type),
                                        verdict->reason);
    if (!scene.found.choice.note.empty() && !row->gid.is_link_local())
        return warning(why, "run against an address of that network, or pass --device and --gid");
    if (row->type != GidType::InfiniBand && row->gid.is_link_local())
        return warning(why, "give the device's netdev an address: rdma.ip, or ip address add");
    return ok(why);
}

constexpr Check kDeviceTable[] = {
    {"kernel", check_kernel},
    {"nodes", check_nodes},
    {"rdma_cm", check_rdma_cm},
    {"abi", check_abi},
    {"libibverbs", check_libibverbs},
    {"access", check_access},
    {"port", each_port<check_port>},
    {"netdev", each_port<check_netdev>},
    {"mtu", each_port<check_mtu>},
    {"pfc", each_port<check_pfc>},
    {"gid_table", each_port<check_gid_table>},
    {"grh", each_port<check_grh>},
    {"gid", check_gid},
    {"attachment", check_attachment},
    {"route", check_route},
    {"peer", check_peer},
};
}  // namespace

const std::span<const Check> kDeviceChecks = kDeviceTable;

}  // namespace perf
