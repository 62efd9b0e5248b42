// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/move_rdma_device.h"

namespace hook {

using base::Code;

Result<std::unique_ptr<Step>> MoveRdmaDevice::load(const Json& json) {
    return make_step<MoveRdmaDevice>(
        Args{.name = TRY(base::required<std::string>(json, "name")),
             .with_link = TRY(base::required<bool>(json, "with_link"))});
}

std::string MoveRdmaDevice::describe() const {
    return "move RDMA device " + args_.name + " into the container's namespace";
}

Result<> MoveRdmaDevice::apply(Site& site) const {
    const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, args_.name));
    if (!device)
        return base::make_error(Code::Unavailable,
                                "RDMA device " + args_.name + " is not in the host's namespace");
    auto moved = site.host.rdma.move(site.host_ns, *site.container, device->index);
    if (!moved && moved.error().code == Code::Unsupported)
        return std::move(moved).advise(
            "this kernel cannot give the device to a container in RDMA netns mode exclusive (rxe: "
            "needs 7.3): boot with the mode shared (no ib_core.netns_mode=0)");
    return moved;
}

Result<> MoveRdmaDevice::undo(Site& site) const {
    if (!site.container || args_.with_link)
        return {};
    const auto device = TRY(site.host.rdma.find_by_name(*site.container, args_.name));
    if (!device)
        return {};
    return site.host.rdma.move(*site.container, site.host_ns, device->index);
}

Json MoveRdmaDevice::save() const {
    return {{"name", args_.name}, {"with_link", args_.with_link}};
}

}  // namespace hook
