// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/create_rdma_link.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/steps/deadlines.h"
#include "hook/steps/where.h"
#include "netns/link.h"
#include "netns/process.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
constexpr std::chrono::seconds kVanishTimeout{2};

// Of a device without contexts. A search of all processes, which a local user can make long.
Result<> check_not_open(netns::Processes& processes,
                        const netns::CharDevice& node,
                        const std::string& name) {
    const auto openers =
        processes.that_opened(node.major, node.minor, base::Deadline::in(kSearchTimeout));
    if (!openers && openers.error().code == Code::Timeout)
        return make_error(Code::Busy,
                          fmt::format("whether RDMA device {} is still open is not known: {}",
                                      name,
                                      openers.error().text))
            .advise(fmt::format("see: fuser {}; end that, then run: rdmactl gc", node.path()));
    if (!openers)
        return openers.error();
    if (openers->empty())
        return {};
    return make_error(
               Code::Busy,
               fmt::format(
                   "RDMA device {} is still open, by process {}", name, fmt::join(*openers, ", ")))
        .advise("end it, then run: rdmactl gc");
}
}  // namespace

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
// has the device open, be it without a context, one deleter at a time (the attachment's lock).
Result<> CreateRdmaLink::remove(Site& site, const netns::Netns& ns, uint32_t device) const {
    netns::RdmaDevices& rdma = site.host.rdma;
    if (const uint32_t users = TRY(rdma.user_contexts(ns, device)); users > 0)
        return make_error(Code::Busy,
                          fmt::format("RDMA device {} is still open {} times", args_.name, users))
            .advise("see the processes: rdma resource show ctx; end them, then run: rdmactl gc");
    if (TRY(rdma.open_without_context(args_.type)))
        TRY(check_not_open(site.host.processes, TRY(rdma.uverbs_node(ns, device)), args_.name));
    return rdma.remove_link(ns, device);
}

// By another name than ours: udev may rename it (rdma-core before 53, kernels before 6.12). In the
// container's namespace a device with our GUID on our netdev is ours or goes with it. On the host
// it may be the administrator's, unless ours was made there: a netdev has one of each type.
Result<std::optional<netns::RdmaDevice>> CreateRdmaLink::find_renamed(
    Site& site, const netns::Netns& ns) const {
    if (args_.where == Where::Host && !site.made)
        return std::optional<netns::RdmaDevice>{};
    auto device = TRY(site.host.rdma.find_software(ns, args_.netdev, args_.type));
    return device && device->node_guid == args_.node_guid ? device : std::nullopt;
}

Result<Undo> CreateRdmaLink::undo(Site& site) const {
    const netns::Netns* ns = site.ns(args_.where);
    netns::RdmaDevices& rdma = site.host.rdma;
    if (ns != nullptr) {
        if (const auto device = TRY(rdma.find_by_netdev(*ns, args_.netdev, args_.name));
            device && device->name == args_.name)
            return undone_by(remove(site, *ns, device->index));
    }
    // Not (any more) on its netdev, or not yet moved to it: then it shows in the host's namespace,
    // by the name and the GUID that we gave it.
    const auto device = TRY(rdma.find_by_name(site.host_ns, args_.name));
    const bool is_ours = device && device->node_guid == args_.node_guid;
    if (ns == nullptr && is_ours)
        return Undo::unknown(fmt::format(
            "RDMA device {} is there, but nothing shows the network namespace of its netdev",
            args_.name));
    if (ns == nullptr)
        return Undo::gone();
    if (!is_ours) {
        const auto renamed = TRY(find_renamed(site, *ns));
        return renamed ? undone_by(remove(site, *ns, renamed->index)) : Undo::gone();
    }
    if (TRY(site.host.links.find(*ns, args_.netdev)))
        return undone_by(remove(site, site.host_ns, device->index));
    // Its netdev is gone, so the kernel is removing it: a second deleter would be one too many.
    return undone_by(
        rdma.wait_gone(site.host_ns, device->index, base::Deadline::in(kVanishTimeout)));
}

Json CreateRdmaLink::save() const {
    return base::object({{"where", where_name(args_.where)},
                         {"type", args_.type},
                         {"name", args_.name},
                         {"netdev", args_.netdev},
                         {"node_guid", args_.node_guid}});
}

}  // namespace hook
