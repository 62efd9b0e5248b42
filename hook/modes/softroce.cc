// SPDX-License-Identifier: Apache-2.0
// softroce: the container's own rxe device, on a macvlan of a host netdev, or on the interface that
// the engine made. With rdma.placement=host, for old kernels, it is the host's one, shared.
#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/modes/software_device.h"
#include "netns/link.h"
#include "netns/rdma.h"

namespace hook {

using netns::RdmaNetnsMode;

namespace {
// Returns the interface in the attachment's scope, the same for all containers.
std::string host_interface(const netns::Link& parent) {
    return fmt::format("parent {}", parent.index);
}

Result<Plan> plan_on_host(const Attachment& a, const Survey& s) {
    if (TRY(s.site.host.rdma.mode()) == RdmaNetnsMode::Exclusive)
        return make_error(
                   Code::Unsupported,
                   "in RDMA namespace mode exclusive a container cannot use the host's device")
            .advise(
                "leave out rdma.placement=host, or boot with ib_core.netns_mode=1 (the mode "
                "shared)");
    const netns::Link parent = TRY(find_parent(a, s.site));
    // The key was made from the parent before rdma-hook waited for the lock.
    if (s.attachment_key != attachment_key(s.site.host_ns.id(), host_interface(parent)))
        return make_error(Code::Busy, "another netdev has become the parent meanwhile")
            .advise("start the container again");
    Plan plan;
    plan.endpoint = {.where = Where::Host,
                     .netdev = parent.index,
                     .device = device_name(kRxe.type, a, s),
                     .addresses = TRY(s.site.host.links.addresses(s.site.host_ns, parent.index))};
    if (plan.endpoint.addresses.empty())
        return make_error(Code::Refused, "netdev '" + parent.name + "' has no address to share")
            .advise("run: ip address add ADDRESS/PREFIX dev " + parent.name);
    plan.endpoint.gid = main_gid(plan.endpoint.addresses, parent.mac);
    plan.endpoint.software = kRxe.type;
    // A device that the administrator made is used, and never removed. Hardware on the netdev
    // belongs to another mode, which the policy may not allow.
    if (const auto device =
            TRY(s.site.host.rdma.find_software(s.site.host_ns, parent.index, kRxe.type))) {
        plan.endpoint.device = device->name;
        return plan;
    }
    plan.add(CreateRdmaLink{.where = Where::Host,
                            .type = kRxe.type,
                            .name = plan.endpoint.device,
                            .netdev = parent.index,
                            .node_guid = netns::eui64(parent.mac)});
    return plan;
}

Result<Scope> scope(const Attachment& a, Site& site) {
    if (a.placement == Placement::Container)
        return scope_in_container(a, site);
    const netns::Link parent = TRY(find_parent(a, site));
    return Scope{Where::Host, host_interface(parent)};
}

Result<Plan> plan(const Attachment& a, const Survey& s) {
    return a.placement == Placement::Host ? plan_on_host(a, s) : plan_software_device(kRxe, a, s);
}
}  // namespace

const Mode kSoftroce{.name = "softroce", .scope = scope, .plan = plan};

}  // namespace hook
