// SPDX-License-Identifier: Apache-2.0
// shared: the host's HCA for many containers. Each has a child of the HCA's netdev (macvlan, ipvlan
// or VLAN) and the GIDs of its own addresses in the HCA's table. The HCA stays the host's: upstream
// kernels neither hide nor refuse a neighbour's GID (see docs/admin/isolation.md).
#include "hook/modes/shared.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/steps/free_vf.h"
#include "netns/link.h"
#include "netns/rdma.h"
#include "netns/sriov.h"

namespace hook {

using netns::ChildKind;

namespace {
// Drivers of PCI functions.
constexpr char kBroadcom[] = "bnxt_en";
constexpr char kMellanox[] = "mlx5_core";

struct Hca {
    netns::Link parent;  // the HCA's netdev, or the bond that has it as a port
    netns::RdmaDevice device;
    uint32_t netdev = 0;  // the HCA's own netdev
    bool software = false;
};

// Returns the device on a netdev: the one that was named, else hardware, else an rxe that somebody
// made there.
Result<std::optional<netns::RdmaDevice>> device_on(uint32_t netdev,
                                                   const std::string& name,
                                                   Site& site) {
    netns::RdmaDevices& rdma = site.host.rdma;
    auto found = TRY(rdma.find_by_netdev(site.host_ns, netdev, name));
    if (!found || found->name == name || TRY(rdma.software_type(site.host_ns, *found)).empty())
        return found;
    for (const auto& other : TRY(rdma.list_on(site.host_ns, netdev))) {
        if (TRY(rdma.software_type(site.host_ns, other)).empty())
            return std::optional{other};
    }
    return found;
}

Result<Hca> find_hca(const Attachment& a, Site& site) {
    Hca hca;
    hca.parent = TRY(find_parent(a, site));
    std::vector<uint32_t> candidates{hca.parent.index};
    if (hca.parent.kind == "bond") {
        const auto ports = TRY(site.host.links.ports_of(site.host_ns, hca.parent.index));
        candidates.insert(candidates.end(), ports.begin(), ports.end());
        // Ports may have devices of their own, and one was named.
        if (const auto named = TRY(site.host.rdma.find_by_name(site.host_ns, a.parent)))
            candidates.front() = TRY(site.host.rdma.netdev_of(site.host_ns, named->index))
                                     .value_or(hca.parent.index);
    }
    for (const uint32_t netdev : candidates) {
        const auto device = TRY(device_on(netdev, a.parent, site));
        if (!device)
            continue;
        hca.device = *device;
        hca.netdev = netdev;
        hca.software = !TRY(site.host.rdma.software_type(site.host_ns, *device)).empty();
        return hca;
    }
    return make_error(Code::Refused, "netdev '" + hca.parent.name + "' has no RDMA device to share")
        .advise("set rdma.parent to one that `rdma link show` lists, or rdma.mode to softroce");
}

Result<> check_netns_mode(Site& site) {
    if (TRY(site.host.rdma.mode()) == netns::RdmaNetnsMode::Shared)
        return {};
    return make_error(
               Code::Unsupported,
               "in RDMA namespace mode exclusive an adapter belongs to only one network namespace")
        .advise("boot with ib_core.netns_mode=1 (namespace mode shared), or set rdma.mode=vf");
}

// Checks that the VF may carry a macvlan. A PF with spoof check drops frames that a VF sends from
// another MAC than its own. Most PFs deliver frames for another MAC only to a trusted VF (mlx5: to
// any). A PF that does not report forbids nothing.
Result<> check_vf_parent(const netns::PciFunction& vf, const netns::Link& link, Site& site) {
    const auto pf = TRY(site.host.sriov.find(vf.pf));
    if (!pf || pf->netdevs.empty())
        return {};
    const netns::PciNetdev& netdev = pf->netdevs.front();
    const auto settings = site.host.sriov.settings(site.host_ns, netdev.index, vf.number);
    if (!settings || !*settings)
        return {};
    const bool checked = (*settings)->spoofchk == true;
    const bool distrusted = (*settings)->trust == false && pf->driver != kMellanox;
    if (!checked && !distrusted)
        return {};
    return make_error(Code::Refused,
                      fmt::format("{} is VF {} of {} with {}: it carries no MAC but its own, and a "
                                  "macvlan has another",
                                  link.name,
                                  vf.number,
                                  netdev.name,
                                  checked ? "spoofchk on" : "trust off"))
        .advise(fmt::format("set rdma.child=ipvlan, or run: ip link set {} vf {} spoofchk off{}",
                            netdev.name,
                            vf.number,
                            pf->driver == kMellanox ? "" : " trust on"));
}

// Refuses an ipvlan on a software device, which finds the interface of a packet by its MAC: an
// ipvlan has none of its own.
Result<> check_child(const Attachment& a, const Hca& hca) {
    if (!hca.software || a.child != ChildKind::Ipvlan)
        return {};
    return make_error(Code::Refused,
                      fmt::format("{} is a software device, and those carry nothing for an ipvlan",
                                  hca.device.name))
        .advise("set rdma.child=macvlan");
}

// Returns the room in the GID table. MLNX_OFED shows the host no GID of a container. Each container
// has one for each address that it has claimed on the netdev, and one for its link-local address.
// If fewer GIDs than that are in use, the claimed ones are added to the visible ones.
Result<netns::GidSpace> find_gid_space(const Hca& hca, const Survey& s, uint32_t count) {
    netns::RdmaDevices& rdma = s.site.host.rdma;
    const auto space = TRY(rdma.gid_space(s.site.host_ns, hca.device, count * 2));
    const auto is_other = [&](const std::string& lease) {
        return !lease.starts_with(fmt::format("{}-", hca.parent.index));
    };
    auto leases = TRY(s.store.files().list(s.store.folder("leases")));
    std::erase_if(leases, is_other);
    if ((2 * leases.size() + count) * space.per_address <= space.size)
        return space;
    std::set<std::string> attachments;
    for (const std::string& lease : leases) {
        if (auto owner = s.store.files().read(s.store.lease_path(lease), kMaxStateFile))
            attachments.insert(*std::move(owner));
    }
    const auto claimed =
        static_cast<uint32_t>(leases.size() + attachments.size()) * space.per_address;
    auto whole = TRY(rdma.gid_space(s.site.host_ns, hca.device, space.size));
    if (whole.size - whole.free < claimed)
        whole.free -= std::min(whole.free, claimed);
    return whole;
}

// Refuses an iWARP device: the GIDs of their addresses distinguish the users of an HCA.
Result<> check_gids(const netns::RdmaDevice& device) {
    if (!device.iwarp)
        return {};
    return make_error(Code::Refused,
                      device.name +
                          " is an iWARP device: it has no GIDs of addresses, by which containers "
                          "could share it")
        .advise(std::string("set rdma.mode to vf or softroce; ") + kIwarpToRoce);
}

Result<> check_macvlan(const Attachment& a, const Hca& hca, Site& site) {
    if (hca.software || a.child != ChildKind::Macvlan)
        return {};
    const auto link = TRY(site.host.links.find(site.host_ns, hca.netdev));
    return link ? check_macvlan_on(hca.device, *link, site) : Result<>{};
}

// Checks for free GIDs: the kernel adds GIDs by itself, and only its log shows that the table is
// full.
Result<> check_gid_space(const Hca& hca, const Survey& s, size_t addresses) {
    // The link-local address has a GID, too. Each address has one for each version of RoCE, of
    // which there are two.
    const auto count = static_cast<uint32_t>(addresses + 1);
    const auto space = TRY(find_gid_space(hca, s, count));
    const uint32_t needed = count * space.per_address;
    if (space.free >= needed)
        return {};
    return make_error(Code::Busy,
                      fmt::format("{} has {} of {} GIDs free, and this container needs {}",
                                  hca.device.name,
                                  space.free,
                                  space.size,
                                  needed))
        .advise("see who has them: rdmactl list; end one, or ask for fewer addresses in rdma.ip");
}

Result<Plan> plan_shared(const Attachment& a, const Survey& s) {
    TRY(check_netns_mode(s.site));
    const Hca hca = TRY(find_hca(a, s.site));
    TRY(check_gids(hca.device));
    TRY(check_child(a, hca));
    TRY(check_macvlan(a, hca, s.site));
    TRY(check_mtu(a, hca.parent, "parent"));
    const bool ipvlan = a.child == ChildKind::Ipvlan;
    const netns::Mac mac =
        ipvlan ? hca.parent.mac : a.mac.value_or(stable_mac(a, s, hca.parent.mac));
    Plan plan;
    plan.endpoint = {.where = Where::Container,
                     .netdev = TRY(link_index(a, s)),
                     .device = hca.device.name,
                     .addresses = TRY(choose_addresses(a, s, hca.parent.index)),
                     .moved = false,
                     .hca_netdev = hca.netdev};
    plan.endpoint.gid = main_gid(plan.endpoint.addresses, mac);
    TRY(check_gid_space(hca, s, plan.endpoint.addresses.size()));
    plan.add(PinNetns{.path = s.store.pin_path(s.attachment_key)});
    claim_addresses(plan, s, {.netdev = hca.parent.index});
    plan.add(CreateChild{{.parent = hca.parent.index,
                          .index = plan.endpoint.netdev,
                          .name = a.ifname,
                          .mac = mac,
                          .mtu = a.mtu.value_or(hca.parent.mtu),
                          .type = child_type(a)}});
    probe_addresses(plan, a, s);
    add_addresses(plan);
    add_routes(plan, a);
    // Hardware shows nothing that could be checked.
    if (hca.software)
        plan.add(CheckDataPath{
            .problem = fmt::format("{} is a software device, and this kernel's carries no traffic "
                                   "for the interfaces of containers",
                                   hca.device.name),
            .fix = "give the container a device of its own: rdma.mode=softroce"});
    return plan;
}

Result<> check_shareable(const netns::RdmaDevice& device, const Context&, Site& site) {
    Attachment named;
    named.parent = device.name;
    const Hca hca = TRY(find_hca(named, site));
    return check_hca(hca.device, hca.parent, site);
}
}  // namespace

Result<> check_hca(const netns::RdmaDevice& device,
                   const std::optional<netns::Link>& netdev,
                   Site& site) {
    if (device.infiniband || (netdev && !netdev->ethernet))
        return not_ethernet(netdev ? "netdev '" + netdev->name + "'" : device.name);
    if (!netdev)
        return without_netdev(device.name);
    TRY(check_gids(device));
    (void)TRY(site.host.rdma.gid_space(site.host_ns, device, 0));
    return {};
}

Result<> check_macvlan_on(const netns::RdmaDevice& device, const netns::Link& netdev, Site& site) {
    const auto function = TRY(site.host.sriov.find(netdev.device));
    if (!function)
        return {};
    if (function->driver == kBroadcom)
        return make_error(Code::Refused,
                          fmt::format("driver bnxt_re of {} sends from the MAC of {}, whatever MAC "
                                      "an interface on it has: a macvlan does not work there",
                                      device.name,
                                      netdev.name))
            .advise("set rdma.child=ipvlan");
    return function->pf.empty() ? Result<>{} : check_vf_parent(*function, netdev, site);
}

const Mode kShared{.name = "shared", .plan = plan_shared, .check_device = check_shareable};

}  // namespace hook
