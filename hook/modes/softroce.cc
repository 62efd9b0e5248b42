// SPDX-License-Identifier: Apache-2.0
// softroce: the container's own rxe device, on a macvlan of a host netdev, or on the interface that
// the engine made; or (rdma.placement=host, for old kernels) the host's one, shared.
#include "hook/modes/softroce.h"

#include <array>

#include <fmt/format.h>

#include "hook/modes/routes.h"
#include "hook/modes/software_link.h"
#include "hook/steps/add_address.h"
#include "hook/steps/create_macvlan.h"
#include "hook/steps/create_rdma_link.h"
#include "hook/steps/pin_netns.h"

namespace hook {

using base::Code;
using base::make_error;
using netns::Address;
using netns::RdmaNetnsMode;

namespace {
constexpr std::array<std::string_view, 10> kKeys = {"parent",
                                                    "placement",
                                                    "ip",
                                                    "gateway",
                                                    "routes",
                                                    "mac",
                                                    "mtu",
                                                    "ifname",
                                                    "memlock",
                                                    "optional"};
constexpr const char* kType = kRxe;

Result<Plan> plan_macvlan(const Attachment& a, const Survey& s) {
    const RdmaNetnsMode mode = TRY(s.site.host.rdma.mode());
    const netns::Link parent = TRY(find_parent(a, s.site));
    if (a.mtu && *a.mtu > parent.mtu)
        return make_error(Code::BadInput,
                          fmt::format("rdma.mtu={} is above the {} of its parent {}",
                                      *a.mtu,
                                      parent.mtu,
                                      parent.name))
            .advise(fmt::format(
                "run: ip link set {} mtu {}; or set a smaller rdma.mtu", parent.name, *a.mtu));
    const netns::Mac mac = a.mac.value_or(stable_mac(a, s));
    Plan plan;
    plan.endpoint = {.where = Where::Container,
                     .netdev = link_index(a, s),
                     .device = device_name(kType, a, s),
                     .gid = {},
                     .addresses = TRY(choose_addresses(a, s, parent.index))};
    plan.endpoint.gid = main_gid(plan.endpoint.addresses, mac);
    plan.add<PinNetns>({.path = s.store.pin_path(s.attachment_key)});
    claim_addresses(plan, s, parent.index);
    plan.add<CreateMacvlan>({.parent = parent.index,
                             .index = plan.endpoint.netdev,
                             .name = a.ifname,
                             .mac = mac,
                             .mtu = a.mtu.value_or(parent.mtu)});
    add_addresses(plan);
    add_routes(plan, a);
    add_rxe(plan, mac, mode);
    return plan;
}

Result<Plan> plan_on_container_link(const Attachment& a, const Survey& s) {
    if (a.ip_source == IpSource::Auto)
        return make_error(Code::BadInput, "rdma.ip=auto does not go with rdma.parent=container")
            .advise("the interface has the engine's address: set rdma.ip=none");
    const RdmaNetnsMode mode = TRY(s.site.host.rdma.mode());
    const netns::Link link = TRY(find_container_link(s.site));
    Plan plan;
    plan.endpoint = {.where = Where::Container,
                     .netdev = link.index,
                     .device = device_name(kType, a, s),
                     .gid = {},
                     .addresses = TRY(s.site.host.links.addresses(*s.site.container, link.index))};
    plan.add<PinNetns>({.path = s.store.pin_path(s.attachment_key)});
    for (const Address& address : a.addresses) {
        plan.add<AddAddress>({.link = link.index, .address = address, .with_link = false});
        plan.endpoint.addresses.insert(plan.endpoint.addresses.begin(), address);
    }
    plan.endpoint.gid = main_gid(plan.endpoint.addresses, link.mac);
    add_rxe(plan, link.mac, mode);
    return plan;
}

Result<Plan> plan_on_host(const Attachment& a, const Survey& s) {
    if (TRY(s.site.host.rdma.mode()) == RdmaNetnsMode::Exclusive)
        return make_error(Code::Unsupported,
                          "in RDMA netns mode exclusive a container cannot use the host's device")
            .advise("leave out rdma.placement=host, or boot with the mode shared");
    const netns::Link parent = TRY(find_parent(a, s.site));
    Plan plan;
    plan.endpoint = {.where = Where::Host,
                     .netdev = parent.index,
                     .device = device_name(kType, a, s),
                     .gid = {},
                     .addresses = TRY(s.site.host.links.addresses(s.site.host_ns, parent.index))};
    if (plan.endpoint.addresses.empty())
        return make_error(Code::Refused, "netdev '" + parent.name + "' has no address to share")
            .advise("run: ip address add ADDRESS/PREFIX dev " + parent.name);
    plan.endpoint.gid = main_gid(plan.endpoint.addresses, parent.mac);
    // One that the administrator made is used, and never removed.
    if (const auto device =
            TRY(s.site.host.rdma.find_by_netdev(s.site.host_ns, parent.index, ""))) {
        plan.endpoint.device = device->name;
        return plan;
    }
    plan.add<CreateRdmaLink>({.where = Where::Host,
                              .type = kType,
                              .name = plan.endpoint.device,
                              .netdev = parent.index,
                              .node_guid = netns::eui64(parent.mac)});
    return plan;
}

Result<Scope> scope(const Attachment& a, Site& site) {
    if (a.placement == Placement::Container)
        return Scope{Where::Container, a.parent == kContainerParent ? a.parent : a.ifname};
    const netns::Link parent = TRY(find_parent(a, site));
    return Scope{Where::Host, fmt::format("parent {}", parent.index)};
}

Result<Plan> plan(const Attachment& a, const Survey& s) {
    if (a.placement == Placement::Host)
        return plan_on_host(a, s);
    return a.parent == kContainerParent ? plan_on_container_link(a, s) : plan_macvlan(a, s);
}
}  // namespace

const Mode kSoftroce{.name = "softroce", .keys = kKeys, .scope = scope, .plan = plan};

}  // namespace hook
