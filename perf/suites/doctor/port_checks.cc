// SPDX-License-Identifier: Apache-2.0
// Ports: state, netdev, MTU, GID tables, and the GID that a run would take.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "perf/suites/doctor/doctor.h"

namespace perf {

namespace {
// What RoCE v2 puts around the payload of a packet: the least (IPv4, UDP, BTH, RETH, ICRC), and
// what drivers subtract for the worst case (GRH, UDP, BTH, XRC, atomics, ICRC).
constexpr uint32_t kLeastHeaders = 60;
constexpr uint32_t kMostHeaders = 96;
constexpr uint32_t kBestMtu = 4096;
constexpr uint32_t kNetdevMtuForBest = 4200;

std::string name_of(const std::string& device, uint8_t port) {
    return fmt::format("{} port {}", printable(device), port);
}

// Trouble with a port that nobody would use is a warning.
Status weight(const Scene& scene, const std::string& device, uint8_t port) {
    const GidRow* chosen = scene.found.chosen();
    const bool other = chosen != nullptr && (chosen->device != device || chosen->port != port);
    return other ? Status::Warning : Status::Fail;
}

using Look = std::function<Findings(const DeviceFacts& device, const PortFacts& port)>;

Findings each_port(const Scene& scene, const Look& look) {
    Findings out;
    for (const DeviceFacts& device : scene.devices) {
        for (const PortFacts& port : device.ports) {
            for (Finding& finding : look(device, port))
                out.push_back(std::move(finding));
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

struct Count {
    size_t own = 0;  // of this namespace, routable, RoCE v2
    size_t link_local = 0;
    size_t version1 = 0;
    size_t foreign = 0;

    [[nodiscard]] std::string text() const {
        return fmt::format("{} of this namespace, {} link-local, {} RoCE v1, {} foreign",
                           own,
                           link_local,
                           version1,
                           foreign);
    }
};

Count count(const Scene& scene, const std::string& device, uint8_t port) {
    Count out;
    for (const GidRow& row : scene.found.tables.rows) {
        if (row.device != device || row.port != port || row.gid.is_zero())
            continue;
        if (!scene.found.tables.holds(row.gid))
            ++out.foreign;
        else if (row.type == GidType::RoceV1)
            ++out.version1;
        else if (row.gid.is_link_local())
            ++out.link_local;
        else
            ++out.own;
    }
    return out;
}

Findings judge_table(const std::string& name, const Count& count, Status bad) {
    const std::string seen = name + ": " + count.text();
    if (count.own != 0)
        return ok(seen + (count.foreign != 0 ? ": the device is shared" : ""));
    if (count.link_local != 0)
        return warning(seen, "give the device's netdev an address: rdma.ip, or ip address add");
    if (count.version1 != 0)
        return {{bad, seen, "RoCE v2 is wanted: see the driver's default RoCE mode"}};
    if (count.foreign != 0)
        return {{bad,
                 seen + ": this container has no address on the device",
                 "give this container an address of the RDMA network: rdma.ip, or ip address add"}};
    return {{bad,
             name + ": the GID table is empty",
             "raise the device's netdev and give it an address: ip link set up, ip address add"}};
}
}  // namespace

Findings check_port(const Scene& scene) {
    return each_port(scene, [&](const DeviceFacts& device, const PortFacts& port) -> Findings {
        const std::string name = name_of(device.name, port.number);
        if (port.active)
            return ok(name + " is active");
        return {{weight(scene, device.name, port.number),
                 fmt::format("{} is not active: {}", name, printable(port.state)),
                 "raise its netdev (ip link set up) and see cable and switch"}};
    });
}

Findings check_netdev(const Scene& scene) {
    return each_port(scene, [&](const DeviceFacts& device, const PortFacts& port) -> Findings {
        const std::string name = name_of(device.name, port.number);
        if (!port.ethernet)
            return skipped(name + " is InfiniBand: needs no netdev");
        const auto netdevs = scene.netdevs(device.name, port.number);
        const Status bad = weight(scene, device.name, port.number);
        if (netdevs.empty())
            return {{bad,
                     name + ": no netdev of it is in this network namespace",
                     "attach the container to the device (rdma.mode), or on the host: ip link set "
                     "NETDEV netns PID"}};
        for (const Interface* netdev : netdevs) {
            if (netdev->up && netdev->carrier)
                return ok(fmt::format("{}: {} is up", name, printable(netdev->name)));
        }
        const std::string netdev = printable(netdevs.front()->name);
        if (netdevs.front()->up)
            return {{bad, name + ": " + netdev + " has no carrier", "see its parent and cable"}};
        return {{bad, name + ": " + netdev + " is down", "ip link set " + netdev + " up"}};
    });
}

Findings check_mtu(const Scene& scene) {
    return each_port(scene, [&](const DeviceFacts& device, const PortFacts& port) -> Findings {
        const std::string name = name_of(device.name, port.number);
        if (!port.active || !port.ethernet || port.active_mtu == 0)
            return skipped(name + " has no MTU to compare");
        Findings out;
        for (const Interface* netdev : scene.netdevs(device.name, port.number)) {
            if (netdev->mtu != 0 && out.empty())
                out = judge_mtu(name, port.active_mtu, *netdev);
        }
        return out.empty() ? skipped(name + ": its netdev is not here") : out;
    });
}

Findings check_gid_table(const Scene& scene) {
    return each_port(scene, [&](const DeviceFacts& device, const PortFacts& port) -> Findings {
        const std::string name = name_of(device.name, port.number);
        if (!port.ethernet)
            return skipped(name + " is InfiniBand: addressed by LID");
        if (device.iwarp)
            return skipped(name + " is iWARP: rdma_cm finds it by its netdev's address");
        return judge_table(
            name, count(scene, device.name, port.number), weight(scene, device.name, port.number));
    });
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

}  // namespace perf
