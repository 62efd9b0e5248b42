// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/running.h"

#include "netns/base/log.h"
#include "netns/device_cgroup.h"

namespace hook {

// ---- AllowDevice
std::string AllowDevice::describe() const {
    return "allow the container device " + name;
}

Result<> AllowDevice::apply(Site& site) const {
    TRY(site.host.device_cgroups.allow(init, device));
    return {};
}

Result<Undo> AllowDevice::undo(Site& site) const {
    return undone_by(site.host.device_cgroups.forbid(init, device));
}

// ---- PlaceFile
std::string PlaceFile::describe() const {
    return "place " + what.source + " in the container";
}

Result<> PlaceFile::apply(Site& site) const {
    auto done = site.host.placements.place(root, what);
    if (done || !optional || done.error().code != Code::Unsupported)
        return done;
    base::log::warning(what.name + " stays on the host: " + done.error().message());
    return {};
}

Result<Undo> PlaceFile::undo(Site& site) const {
    return undone_by(site.host.placements.remove(root, what));
}

// ---- SetMemlock
std::string SetMemlock::describe() const {
    return "set RLIMIT_MEMLOCK of the container";
}

Result<> SetMemlock::apply(Site& site) const {
    return site.host.processes.set_memlock(init, {.soft = bytes, .hard = bytes});
}

Result<Undo> SetMemlock::undo(Site& site) const {
    auto done = site.host.processes.set_memlock(init, before);
    if (!done && done.error().code == Code::Unavailable)
        return Undo::gone();
    return undone_by(std::move(done));
}

}  // namespace hook
