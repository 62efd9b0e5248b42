// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/rdma.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/steps/vf.h"
#include "netns/link.h"
#include "netns/process.h"
#include "netns/rdma.h"

namespace hook {

using netns::Netns;
using netns::RdmaDevice;

// ---- CreateRdmaLink
namespace {
constexpr std::chrono::seconds kVanishTimeout{2};
// The time to look at every open file of a host with a million of them.
constexpr std::chrono::seconds kSearchTimeout{2};

// Checks that a device without contexts is not open. This searches all processes; a local user can
// make the search long.
Result<> check_not_open(netns::Processes& processes,
                        const netns::CharDevice& node,
                        const std::string& name) {
    const auto openers =
        processes.that_opened(node.major, node.minor, Deadline::in(kSearchTimeout));
    if (!openers && openers.error().code == Code::Timeout)
        return make_error(Code::Busy,
                          fmt::format("cannot find out whether RDMA device {} is still open: {}",
                                      name,
                                      openers.error().text))
            .advise(fmt::format("see who has it open: fuser {}; end that, then run: rdmactl gc",
                                node.path()));
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

// Deletes the link by the kernel's rules for safety (facts of 7.2 and 7.3). The netdev must still
// be there, and nobody may have the device open, not even without a context. The attachment's lock
// ensures one deleter at a time.
Result<> remove_link(const CreateRdmaLink& step, Site& site, const Netns& ns, uint32_t device) {
    netns::RdmaDevices& rdma = site.host.rdma;
    if (const uint32_t users = TRY(rdma.user_contexts(ns, device)); users > 0)
        return make_error(Code::Busy,
                          fmt::format("RDMA device {} is still open {} times", step.name, users))
            .advise("see the processes: rdma resource show ctx; end them, then run: rdmactl gc");
    if (TRY(rdma.open_without_context(step.type)))
        TRY(check_not_open(site.host.processes, TRY(rdma.uverbs_node(ns, device)), step.name));
    return rdma.remove_link(ns, device);
}

// Finds the device under another name: udev may rename it (rdma-core before 53, kernels before
// 6.12). In the container's namespace, a device with the step's GUID on its netdev is the step's,
// or it goes with the netdev. On the host such a device may be the administrator's, unless the
// step's was made there: a netdev has one device of each type.
Result<std::optional<RdmaDevice>> find_renamed(const CreateRdmaLink& step,
                                               Site& site,
                                               const Netns& ns) {
    if (step.where == Where::Host && !site.made)
        return std::optional<RdmaDevice>{};
    auto device = TRY(site.host.rdma.find_software(ns, step.netdev, step.type));
    return device && device->node_guid == step.node_guid ? device : std::nullopt;
}
}  // namespace

std::string CreateRdmaLink::describe() const {
    return fmt::format(
        "create RDMA link {} (type {}) in the {}'s namespace", name, type, where_name(where));
}

Result<> CreateRdmaLink::apply(Site& site) const {
    return site.host.rdma.add_link(*site.ns(where), {.name = name, .type = type, .netdev = netdev});
}

Result<Undo> CreateRdmaLink::undo(Site& site) const {
    const Netns* ns = site.ns(where);
    netns::RdmaDevices& rdma = site.host.rdma;
    if (ns != nullptr) {
        if (const auto device = TRY(rdma.find_by_netdev(*ns, netdev, name));
            device && device->name == name)
            return undone_by(remove_link(*this, site, *ns, device->index));
    }
    // The device may have left its netdev, or not have been moved to it yet. Then the host's
    // namespace shows it under the name and GUID that the step gave it.
    const auto device = TRY(rdma.find_by_name(site.host_ns, name));
    const bool is_it = device && device->node_guid == node_guid;
    if (ns == nullptr && is_it)
        return Undo::unknown(fmt::format(
            "RDMA device {} is there, but nothing shows the network namespace of its netdev",
            name));
    if (ns == nullptr)
        return Undo::gone();
    if (!is_it) {
        const auto renamed = TRY(find_renamed(*this, site, *ns));
        return renamed ? undone_by(remove_link(*this, site, *ns, renamed->index)) : Undo::gone();
    }
    if (TRY(site.host.links.find(*ns, netdev)))
        return undone_by(remove_link(*this, site, site.host_ns, device->index));
    // The netdev is gone, so the kernel is removing the device: a second deleter would be one too
    // many.
    return undone_by(rdma.wait_gone(site.host_ns, device->index, Deadline::in(kVanishTimeout)));
}

// ---- MoveRdmaDevice
std::string MoveRdmaDevice::describe() const {
    return "move RDMA device " + name + " into the container's namespace";
}

Result<> MoveRdmaDevice::apply(Site& site) const {
    // A VF's device may have another name once its driver was bound again.
    const auto device =
        TRY(of ? rdma_device_of(site, of->vf) : site.host.rdma.find_by_name(site.host_ns, name));
    if (!device)
        return make_error(Code::Unavailable,
                          "RDMA device " + name + " is not in the host's namespace")
            .advise("see where it is: rdma dev show; if it is gone, load its driver");
    auto moved = site.host.rdma.move(site.host_ns, *site.container, device->index);
    if (!moved && moved.error().code == Code::Unsupported)
        return std::move(moved).advise(
            "boot with ib_core.netns_mode=1: this kernel cannot give the device to a container in "
            "RDMA namespace mode exclusive (rxe: needs 7.3)");
    return moved;
}

Result<Undo> MoveRdmaDevice::undo(Site& site) const {
    if (!site.container || with_link)
        return Undo::gone();
    if (of && !TRY(is_held(site, of->lease)))
        return Undo::gone();
    netns::RdmaDevices& rdma = site.host.rdma;
    auto device = of ? TRY(rdma.find_by_netdev(*site.container, of->netdev, name)) : std::nullopt;
    // In mode exclusive, the namespace shows only devices that were moved there.
    if (!device)
        device = TRY(rdma.find_by_name(*site.container, name));
    if (!device)
        return Undo::gone();
    auto moved = rdma.move(*site.container, site.host_ns, device->index);
    if (moved || moved.error().code != Code::Busy || !of)
        return undone_by(std::move(moved));
    // The name may be another device's on the host by now: since 7.3 a name belongs to a namespace.
    // Or the container gave the device a name of the host's. RestoreVf names it later.
    TRY(rdma.rename(*site.container, device->index, interim_name(of->vf)));
    return undone_by(rdma.move(*site.container, site.host_ns, device->index));
}

}  // namespace hook
