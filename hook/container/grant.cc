// SPDX-License-Identifier: Apache-2.0
#include "hook/container/grant.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "hook/modes/software_device.h"
#include "netns/base/log.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
constexpr std::chrono::seconds kGidTimeout{5};
constexpr std::chrono::seconds kDeafTimeout{2};  // part of it
constexpr std::chrono::seconds kPortTimeout{5};

// Attachment 0 has the plain name; the others carry their number.
std::string numbered(const char* name, unsigned index) {
    return index == 0 ? name : fmt::format("{}_{}", name, index);
}

// Each device once: several attachments may share one.
std::string join_devices(const std::vector<Granted>& granted, const char* suffix) {
    std::set<std::string_view> listed;
    std::string list;
    for (const Granted& g : granted) {
        if (listed.insert(g.device.name).second)
            list += (list.empty() ? "" : ",") + g.device.name + suffix;
    }
    return list;
}

void add_environment(oci::Spec& spec, const std::vector<Granted>& granted) {
    for (const Granted& g : granted) {
        spec.add_env(numbered("RDMA_DEVICE", g.index), g.device.name);
        spec.add_env(numbered("RDMA_NETDEV", g.index), g.netdev.name);
        if (!g.gid)
            continue;
        spec.add_env(numbered("RDMA_GID", g.index), netns::to_string(g.gid->gid));
        spec.add_env(numbered("RDMA_GID_INDEX", g.index), std::to_string(g.gid->index));
    }
    // "=": NCCL takes the names as they are and not as prefixes.
    spec.add_env("NCCL_IB_HCA", "=" + join_devices(granted, ""));
    spec.add_env("UCX_NET_DEVICES", join_devices(granted, ":1"));
    // UCX (1.18 at least) takes from a completion's SL whether a datagram came by IPv4, as ConnectX
    // tells it there. rxe does not, and all datagrams would be dropped as those of another GID;
    // whose they are rxe itself has checked.
    if (std::ranges::any_of(granted, [](const Granted& g) { return g.software == kRxe.type; }))
        spec.add_env("UCX_UD_VERBS_ETH_DGID_CHECK", "n");
}

base::Error device_gone(const Endpoint& endpoint) {
    return make_error(Code::Unavailable, "RDMA device " + endpoint.device + " is gone")
        .advise("start the containers that share it anew");
}

// The RDMA device of a bond, which goes over to another port of it with a failover: the one of that
// name, if its netdev is a port of the bond that the container's interface stands on.
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

Json to_json(const Granted& g) {
    Json json = base::object({{"index", g.index},
                              {"mode", g.mode},
                              {"placement", g.placement == Placement::Host ? "host" : "container"},
                              {"device", g.device.name},
                              {"provider", g.software.empty() ? "device" : g.software},
                              {"node_guid", fmt::format("{:016x}", g.device.node_guid)},
                              {"netdev", g.netdev.name},
                              {"mac", netns::to_string(g.netdev.mac)},
                              {"mtu", g.netdev.mtu},
                              {"addresses", Json::array()},
                              {"rdma_cm", g.rdma_cm.has_value()},
                              {"nodes", Json::array({g.uverbs.path()})}});
    if (g.gid) {
        json["gid"] = netns::to_string(g.gid->gid);
        json["gid_index"] = g.gid->index;
        json["gid_type"] = "RoCE v2";
    }
    if (!g.port_state.empty())
        json["port_state"] = g.port_state;
    if (!g.software_path.empty())
        json["software_path"] = g.software_path;
    for (const auto& address : g.addresses)
        json["addresses"].push_back(netns::to_string(address));
    if (g.rdma_cm)
        json["nodes"].push_back(g.rdma_cm->path());
    return json;
}

// The container's own GID. A device of hardware that was bound just now may not have heard of its
// netdev's MAC and addresses (before 7.0), and does not look again by itself: the MAC that the
// netdev has, set once more, makes it.
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

// The host's port is as it is, and one that is switched off stays so.
base::Deadline port_deadline(const Attachment& attachment, const Endpoint& endpoint) {
    const bool waits = endpoint.hca_netdev == 0 && attachment.link_state != netns::VfLinkState::Off;
    return waits ? base::Deadline::in(kPortTimeout) : base::Deadline::now();
}
}  // namespace

Result<FoundDevice> find_device(Site& site, const Endpoint& endpoint) {
    const bool hosts = endpoint.hca_netdev != 0;
    const netns::Netns* ns = hosts ? &site.host_ns : site.ns(endpoint.where);
    if (ns == nullptr)
        return make_error(Code::Unavailable, "the attachment's network namespace is gone");
    // rdma.placement=host: hardware that the parent has is another mode's to give.
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
    const auto link =
        ns == nullptr ? std::nullopt : TRY(site.host.links.find(*ns, endpoint.netdev));
    if (!link)
        return device_gone(endpoint);
    netns::RdmaDevices& rdma = site.host.rdma;
    Granted granted{.index = attachment.index,
                    .mode = attachment.mode,
                    .placement = attachment.placement,
                    .device = device,
                    .netdev = *link,
                    .gid = {},
                    .addresses = endpoint.addresses,
                    .software = endpoint.software,
                    .uverbs = {},
                    .software_path = endpoint.software_path,
                    .rdma_cm = {}};
    if (granted.software.empty())
        granted.software = TRY(rdma.software_type(device_ns, device));
    const bool is_own_hardware = endpoint.hca_netdev == 0 && granted.software.empty();
    if (endpoint.gid)
        granted.gid = TRY(wait_for_gid(
            site, found, {*endpoint.gid, link->name, *ns}, endpoint.netdev, is_own_hardware));
    // Programs take only ports that are ACTIVE when they begin (NCCL goes by sockets else).
    if (granted.software.empty())
        granted.port_state = TRY(rdma.wait_for_active(
            device_ns, device.index, *ns, port_deadline(attachment, endpoint)));
    granted.uverbs = TRY(rdma.uverbs_node(device_ns, device.index));
    // In the host's placement rdma_cm would resolve against the container's own namespace, which
    // the device does not serve; without a GSI QP (rxe moved in exclusive mode, 7.3) it cannot
    // connect. iWARP needs none.
    const bool connectable =
        !endpoint.moved || device.iwarp || TRY(rdma.has_gsi_qp(device_ns, device.index));
    if (attachment.placement == Placement::Container && connectable)
        granted.rdma_cm = TRY(rdma.rdma_cm_node());
    return granted;
}

Json attach_json(const std::string& id, bool fenced, const std::vector<Granted>& granted) {
    Json json = base::object({{"format", 1},
                              {"attached", true},
                              {"id", id},
                              {"isolation", fenced ? "device nodes" : "none"},
                              {"attachments", Json::array()}});
    for (const Granted& g : granted)
        json["attachments"].push_back(to_json(g));
    return json;
}

Json failed_attach_json(const std::string& id, const base::Error& error) {
    return base::object({{"format", 1},
                         {"attached", false},
                         {"id", id},
                         {"error", error.message()},
                         {"code", base::code_name(error.code)},
                         {"attachments", Json::array()}});
}

Result<> grant(oci::Spec& spec, const Request& request, const std::vector<Granted>& granted) {
    for (const Granted& g : granted) {
        TRY(spec.add_device({g.uverbs.path(), g.uverbs.major, g.uverbs.minor}));
        if (g.rdma_cm)
            TRY(spec.add_device({g.rdma_cm->path(), g.rdma_cm->major, g.rdma_cm->minor}));
    }
    // The annotation, then the user's --ulimit, then what the policy allows: verbs pin their
    // memory.
    if (const uint64_t bytes = request.memlock.value_or(request.memlock_default); bytes != 0)
        spec.set_memlock(bytes, request.memlock.has_value());
    add_environment(spec, granted);
    return {};
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
            lines.push_back(g.netdev.name + " has a software path: " + g.software_path);
        if (g.placement == Placement::Host) {
            lines.push_back(g.device.name +
                            " is the host's: every container that shares it can use the others' "
                            "identity, and old kernels can crash on it; for tests only");
        } else if (!g.rdma_cm) {
            lines.push_back(g.device.name +
                            " has no rdma_cm on this kernel in RDMA netns mode exclusive: programs "
                            "that exchange addresses themselves work, rdma_connect does not");
        }
    }
    return lines;
}

}  // namespace hook
