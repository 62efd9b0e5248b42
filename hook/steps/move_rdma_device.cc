// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/move_rdma_device.h"

#include "hook/steps/vf_names.h"

namespace hook {

using base::Code;

Result<std::unique_ptr<Step>> MoveRdmaDevice::load(const Json& json) {
    Args args;
    args.name = TRY(base::required<std::string>(json, "name"));
    args.with_link = TRY(base::required<bool>(json, "with_link"));
    if (!json.contains("vf"))
        return make_step<MoveRdmaDevice>(std::move(args));
    args.vf = TRY(base::required<std::string>(json, "vf"));
    args.netdev = TRY(base::required<uint32_t>(json, "netdev"));
    args.lease = TRY(lease_from_json(json));
    return make_step<MoveRdmaDevice>(std::move(args));
}

std::string MoveRdmaDevice::describe() const {
    return "move RDMA device " + args_.name + " into the container's namespace";
}

Result<std::optional<netns::RdmaDevice>> MoveRdmaDevice::find_on_host(Site& site) const {
    // Bound again, it may have another name.
    return args_.vf.empty() ? site.host.rdma.find_by_name(site.host_ns, args_.name)
                            : rdma_device_of(site, args_.vf);
}

Result<> MoveRdmaDevice::apply(Site& site) const {
    const auto device = TRY(find_on_host(site));
    if (!device)
        return base::make_error(Code::Unavailable,
                                "RDMA device " + args_.name + " is not in the host's namespace");
    auto moved = site.host.rdma.move(site.host_ns, *site.container, device->index);
    if (!moved && moved.error().code == Code::Unsupported)
        return std::move(moved).advise(
            "this kernel cannot give the device to a container in RDMA netns mode exclusive (rxe: "
            "needs 7.3): boot with ib_core.netns_mode=1");
    return moved;
}

Result<Undo> MoveRdmaDevice::undo(Site& site) const {
    if (!site.container || args_.with_link)
        return Undo::gone();
    if (!args_.vf.empty() && !TRY(is_held(site, args_.lease)))
        return Undo::gone();
    netns::RdmaDevices& rdma = site.host.rdma;
    std::optional<netns::RdmaDevice> device;
    if (args_.netdev != 0)
        device = TRY(rdma.find_by_netdev(*site.container, args_.netdev, args_.name));
    // In mode exclusive only what was moved there is seen from there.
    if (!device)
        device = TRY(rdma.find_by_name(*site.container, args_.name));
    if (!device)
        return Undo::gone();
    auto moved = rdma.move(*site.container, site.host_ns, device->index);
    if (moved || moved.error().code != Code::Busy || args_.vf.empty())
        return undone_by(std::move(moved));
    // Another has its name on the host by now (since 7.3 a name belongs to a namespace), or it was
    // given one of the host's. RestoreVf names it.
    TRY(rdma.rename(*site.container, device->index, interim_name(args_.vf)));
    return undone_by(rdma.move(*site.container, site.host_ns, device->index));
}

Json MoveRdmaDevice::save() const {
    Json json = base::object({{"name", args_.name}, {"with_link", args_.with_link}});
    if (args_.vf.empty())
        return json;
    json["vf"] = args_.vf;
    json["netdev"] = args_.netdev;
    json["lease"] = to_json(args_.lease);
    return json;
}

}  // namespace hook
