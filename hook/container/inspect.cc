// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inspect.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/modes/software_device.h"
#include "netns/base/log.h"
#include "netns/rdma.h"

namespace hook {

namespace {
constexpr std::chrono::seconds kGidTimeout{5};
constexpr std::chrono::seconds kDeafTimeout{2};  // part of kGidTimeout
constexpr std::chrono::seconds kPortTimeout{5};

base::Error device_gone(const Endpoint& endpoint) {
    return make_error(Code::Unavailable, "RDMA device " + endpoint.device + " is gone")
        .advise("start the containers that share it again");
}

// True if the RDMA device is the container's own, for as long as the attachment lasts.
bool is_own(const Endpoint& endpoint) {
    return endpoint.hca_netdev == 0 && !endpoint.rdma_index;
}

// Finds the RDMA device of a bond, which moves to another port of the bond with a failover. It has
// this name, and its netdev is a port of the bond below the container's interface.
Result<std::optional<netns::RdmaDevice>> find_on_bond(Site& site, const Endpoint& endpoint) {
    netns::Links& links = site.host.links;
    const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, endpoint.device));
    const auto netdev =
        device ? TRY(site.host.rdma.netdev_of(site.host_ns, device->index)) : std::nullopt;
    const auto port = netdev ? TRY(links.find(site.host_ns, *netdev)) : std::nullopt;
    const netns::Netns* ns = site.ns(endpoint.where);
    const auto own = port && ns != nullptr ? TRY(links.find(*ns, endpoint.netdev)) : std::nullopt;
    const bool same = own && port->master != 0 && port->master == own->parent;
    return same ? device : std::nullopt;
}

// Waits for the container's own GID. Before 7.0 a hardware device that was just bound may have
// missed its netdev's MAC and addresses. It does not look again by itself: setting the netdev's own
// MAC once more makes it look.
Result<netns::GidEntry> wait_for_gid(Site& site,
                                     const FoundDevice& found,
                                     const netns::WantedGid& wanted,
                                     uint32_t netdev,
                                     bool may_be_deaf) {
    netns::RdmaDevices& rdma = site.host.rdma;
    const auto deadline = base::Deadline::in(kGidTimeout);
    if (may_be_deaf) {
        auto heard =
            rdma.wait_for_gid(found.ns, found.device, wanted, base::Deadline::in(kDeafTimeout));
        if (heard || heard.error().code != Code::Timeout)
            return heard;
        const netns::Netns& ns = *wanted.netdev_ns;
        if (const auto link = TRY(site.host.links.find(ns, netdev))) {
            const auto told = site.host.links.change(ns, netdev, {.mac = link->mac});
            base::log::info(fmt::format("{} has not heard of its MAC: {}",
                                        found.device.name,
                                        told ? "set again" : told.error().message()));
        }
    }
    return rdma.wait_for_gid(found.ns, found.device, wanted, deadline);
}

// Adds the interface of a host's device, its addresses, and the GID of the first, as they are now:
// the host changes them at will. An adapter may have none of them.
Result<> add_hosts_identity(Site& site, Granted& granted) {
    netns::Links& links = site.host.links;
    netns::RdmaDevices& rdma = site.host.rdma;
    const auto port = TRY(rdma.netdev_of(site.host_ns, granted.device.index));
    granted.netdev = port ? TRY(links.find(site.host_ns, *port)) : std::nullopt;
    if (!granted.netdev)
        return {};
    const auto master = TRY(links.find(site.host_ns, granted.netdev->master));
    if (master && master->kind == "bond")  // its ports have no addresses
        granted.netdev = master;
    granted.addresses = TRY(links.addresses(site.host_ns, granted.netdev->index));
    if (granted.device.infiniband || granted.device.iwarp)
        return {};
    auto gid = rdma.find_gid(
        site.host_ns,
        granted.device,
        {main_gid(granted.addresses, granted.netdev->mac), granted.netdev->name, site.host_ns});
    if (!gid && gid.error().code == Code::Unsupported)  // RoCE is switched off
        return {};
    granted.gid = TRY(std::move(gid));
    return {};
}

// The host's port is as it is; a port that is switched off stays so.
base::Deadline port_deadline(const Attachment& attachment, const Endpoint& endpoint) {
    const bool waits = is_own(endpoint) && attachment.link_state != netns::VfLinkState::Off;
    return waits ? base::Deadline::in(kPortTimeout) : base::Deadline::now();
}

Result<std::vector<netns::CharDevice>> find_mad_nodes(const netns::RdmaDevice& device, Site& site) {
    auto nodes = TRY(site.host.rdma.mad_nodes(device));
    if (nodes.empty())
        return make_error(Code::Unavailable, "RDMA device '" + device.name + "' has no umad node")
            .advise("run: modprobe ib_umad; an iWARP device has none: leave out rdma.umad");
    return nodes;
}
}  // namespace

std::vector<netns::CharDevice> device_nodes(const Granted& granted) {
    std::vector<netns::CharDevice> nodes{granted.uverbs};
    nodes.insert(nodes.end(), granted.mad_nodes.begin(), granted.mad_nodes.end());
    return nodes;
}

std::vector<netns::CharDevice> all_nodes(const std::vector<Granted>& granted) {
    std::vector<netns::CharDevice> nodes;
    const auto add = [&](const netns::CharDevice& node) {
        if (std::ranges::find(nodes, node.name, &netns::CharDevice::name) == nodes.end())
            nodes.push_back(node);
    };
    for (const Granted& g : granted) {
        std::ranges::for_each(device_nodes(g), add);
        if (g.rdma_cm)
            add(*g.rdma_cm);
    }
    return nodes;
}

Result<FoundDevice> find_device(Site& site, const Endpoint& endpoint) {
    if (endpoint.rdma_index) {
        for (netns::RdmaDevice& device : TRY(site.host.rdma.list(site.host_ns))) {
            if (device.index == *endpoint.rdma_index)
                return FoundDevice{std::move(device), site.host_ns};
        }
        return device_gone(endpoint);
    }
    const bool hosts = endpoint.hca_netdev != 0;
    const netns::Netns* ns = hosts ? &site.host_ns : site.ns(endpoint.where);
    if (ns == nullptr)
        return make_error(Code::Unavailable, "the attachment's network namespace is gone")
            .advise("run: rdmactl gc");
    // rdma.placement=host: another mode gives the parent's hardware.
    const bool shared_rxe = !hosts && endpoint.where == Where::Host;
    const uint32_t netdev = hosts ? endpoint.hca_netdev : endpoint.netdev;
    netns::RdmaDevices& rdma = site.host.rdma;
    auto device = TRY(shared_rxe ? rdma.find_software(*ns, netdev, kRxe.type)
                                 : rdma.find_by_netdev(*ns, netdev, endpoint.device));
    if (!device && hosts)
        device = TRY(find_on_bond(site, endpoint));
    if (!device)
        return device_gone(endpoint);
    return FoundDevice{*device, *ns};
}

Result<Granted> inspect(Site& site, const Attachment& attachment, const Endpoint& endpoint) {
    const FoundDevice found = TRY(find_device(site, endpoint));
    const auto& [device, device_ns] = found;
    const netns::Netns* ns = site.ns(endpoint.where);
    netns::RdmaDevices& rdma = site.host.rdma;
    Granted granted{.index = attachment.index,
                    .mode = attachment.mode,
                    .placement = stays_on_host(attachment) ? Placement::Host : Placement::Container,
                    .device = device,
                    .addresses = endpoint.addresses,
                    .software = endpoint.software,
                    .software_path = endpoint.software_path};
    if (granted.software.empty())
        granted.software = TRY(rdma.software_type(device_ns, device));
    if (!granted.software.empty())
        granted.driver = granted.software;
    else if (const auto driver = rdma.driver(device_ns, device))
        granted.driver = *driver;
    if (endpoint.rdma_index)
        TRY(add_hosts_identity(site, granted));
    else if (ns != nullptr)
        granted.netdev = TRY(site.host.links.find(*ns, endpoint.netdev));
    if (ns == nullptr || (!granted.netdev && !endpoint.rdma_index))
        return device_gone(endpoint);
    const bool is_own_hardware = is_own(endpoint) && granted.software.empty();
    if (endpoint.gid)
        granted.gid = TRY(wait_for_gid(site,
                                       found,
                                       {*endpoint.gid, granted.netdev->name, *ns},
                                       endpoint.netdev,
                                       is_own_hardware));
    // Programs use only ports that are ACTIVE when they begin (NCCL otherwise falls back to
    // sockets).
    if (granted.software.empty())
        granted.port_state = TRY(rdma.wait_for_active(
            device_ns, device.index, *ns, port_deadline(attachment, endpoint)));
    granted.uverbs = TRY(rdma.uverbs_node(device_ns, device.index));
    if (attachment.umad.value_or(false))
        granted.mad_nodes = TRY(find_mad_nodes(device, site));
    // rdma_cm resolves against the container's namespace. A device that stays the host's serves
    // only the host's. Without a GSI QP (rxe moved in exclusive mode, 7.3) it cannot connect. iWARP
    // needs none.
    const bool connectable =
        !endpoint.moved || device.iwarp || TRY(rdma.has_gsi_qp(device_ns, device.index));
    const bool served = !stays_on_host(attachment) || site.hosts_network;
    if (served && connectable)
        granted.rdma_cm = TRY(rdma.rdma_cm_node());
    return granted;
}

std::vector<std::string> warnings(const std::vector<Granted>& granted) {
    std::vector<std::string> lines;
    for (const Granted& g : granted) {
        if (!g.port_state.empty() && g.port_state != netns::kActivePort)
            lines.push_back(
                fmt::format("the port of {} is {}: programs may do without RDMA until it is "
                            "ACTIVE; see: rdma link show",
                            g.device.name,
                            g.port_state));
        if (!g.software_path.empty())
            lines.push_back(g.netdev->name + " has a software path: " + g.software_path);
        if (!g.image_lacks.empty())
            lines.push_back(g.image_lacks);
        if (const ModeInfo* mode = find_mode_info(g.mode); mode != nullptr && mode->of_host)
            continue;
        if (g.placement == Placement::Host) {
            lines.push_back(g.device.name +
                            " is the host's: every container that shares it can use the others' "
                            "identity, and old kernels can crash on it; for tests only");
        } else if (!g.rdma_cm) {
            lines.push_back(
                g.device.name +
                " has no rdma_cm on this kernel in RDMA namespace mode exclusive: programs "
                "that exchange addresses themselves work, rdma_connect does not");
        }
    }
    return lines;
}

}  // namespace hook
