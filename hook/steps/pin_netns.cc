// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/pin_netns.h"

#include "netns/namespace.h"

namespace hook {

Result<std::unique_ptr<Step>> PinNetns::load(const Json& json) {
    return make_step<PinNetns>(Args{.path = TRY(base::required<std::string>(json, "path"))});
}

std::string PinNetns::describe() const {
    return "pin the container's network namespace at " + args_.path;
}

Result<> PinNetns::apply(Site& site) const {
    return site.host.namespaces.pin(*site.container, args_.path);
}

Result<Undo> PinNetns::undo(Site& site) const {
    return undone_by(site.host.namespaces.unpin(args_.path));
}

Json PinNetns::save() const {
    return base::object({{"path", args_.path}});
}

}  // namespace hook
