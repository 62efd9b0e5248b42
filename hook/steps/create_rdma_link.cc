// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/create_rdma_link.h"

#include <chrono>

#include <fmt/format.h>

#include "hook/steps/where.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
constexpr std::chrono::seconds kVanishTimeout{2};
}

Result<std::unique_ptr<Step>> CreateRdmaLink::load(const Json& json) {
    Args args;
    args.where = TRY(where_from_json(json));
    args.type = TRY(base::required<std::string>(json, "type"));
    args.name = TRY(base::required<std::string>(json, "name"));
    args.netdev = TRY(base::required<uint32_t>(json, "netdev"));
    args.node_guid = TRY(base::required<uint64_t>(json, "node_guid"));
    return make_step<CreateRdmaLink>(std::move(args));
}

std::string CreateRdmaLink::describe() const {
    return fmt::format("create RDMA link {} (type {}) in the {}'s namespace",
                       args_.name,
                       args_.type,
                       where_name(args_.where));
}

Result<> CreateRdmaLink::apply(Site& site) const {
    return site.host.rdma.add_link(
        *site.ns(args_.where), {.name = args_.name, .type = args_.type, .netdev = args_.netdev});
}

// The kernel's rules for a safe deletion (facts of 7.2 and 7.3): the netdev is still there, nobody
// has the device open, one deleter at a time (the attachment's lock).
Result<> CreateRdmaLink::remove(Site& site, const netns::Netns& ns, uint32_t device) const {
    const uint32_t users = TRY(site.host.rdma.user_contexts(ns, device));
    if (users > 0)
        return make_error(Code::Busy,
                          fmt::format("RDMA device {} is still open {} times", args_.name, users))
            .advise("end the processes that use it, then run: rdmactl gc");
    return site.host.rdma.remove_link(ns, device);
}

Result<> CreateRdmaLink::undo(Site& site) const {
    const netns::Netns* ns = site.ns(args_.where);
    if (ns == nullptr)
        return {};
    netns::RdmaDevices& rdma = site.host.rdma;
    if (const auto device = TRY(rdma.find_by_netdev(*ns, args_.netdev, args_.name));
        device && device->name == args_.name)
        return remove(site, *ns, device->index);
    // Not (any more) on its netdev, or not yet moved to it: then it shows in the host's namespace,
    // by the name and the GUID that we gave it.
    const auto device = TRY(rdma.find_by_name(site.host_ns, args_.name));
    if (!device || device->node_guid != args_.node_guid)
        return {};
    if (TRY(site.host.links.find(*ns, args_.netdev)))
        return remove(site, site.host_ns, device->index);
    // Its netdev is gone, so the kernel is removing it: a second deleter would be one too many.
    return rdma.wait_gone(site.host_ns, device->index, base::Deadline::in(kVanishTimeout));
}

Json CreateRdmaLink::save() const {
    return base::object({{"where", where_name(args_.where)},
                         {"type", args_.type},
                         {"name", args_.name},
                         {"netdev", args_.netdev},
                         {"node_guid", args_.node_guid}});
}

}  // namespace hook
