// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/allow_device.h"

#include "hook/steps/process_json.h"
#include "netns/device_cgroup.h"

namespace hook {

Result<AllowDevice::Args> AllowDevice::args_from(const Json& json) {
    Args args;
    args.init = TRY(init_from_json(json));
    args.name = TRY(base::required<std::string>(json, "name"));
    args.device.major = TRY(base::required<uint32_t>(json, "major"));
    args.device.minor = TRY(base::required<uint32_t>(json, "minor"));
    return args;
}

Result<std::unique_ptr<Step>> AllowDevice::load(const Json& json) {
    return make_step<AllowDevice>(TRY(args_from(json)));
}

std::string AllowDevice::describe() const {
    return "allow the container device " + args_.name;
}

Result<> AllowDevice::apply(Site& site) const {
    TRY(site.host.device_cgroups.allow(args_.init, args_.device));
    return {};
}

Result<Undo> AllowDevice::undo(Site& site) const {
    return undone_by(site.host.device_cgroups.forbid(args_.init, args_.device));
}

Json AllowDevice::save() const {
    return base::object({{"init", to_json(args_.init)},
                         {"name", args_.name},
                         {"major", args_.device.major},
                         {"minor", args_.device.minor}});
}

}  // namespace hook
