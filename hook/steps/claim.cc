// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/claim.h"

#include "hook/state/store.h"
#include "netns/namespace.h"

namespace hook {

// ---- PinNetns
std::string PinNetns::describe() const {
    return "pin the container's network namespace at " + path;
}

Result<> PinNetns::apply(Site& site) const {
    return site.host.namespaces.pin(*site.container, path);
}

Result<Undo> PinNetns::undo(Site& site) const {
    return undone_by(site.host.namespaces.unpin(path));
}

// ---- Claim
Result<bool> is_held(Site& site, const Lease& lease) {
    const auto owner = site.host.files.read(lease.path, kMaxStateFile);
    if (!owner && !base::is_missing(owner.error()))
        return owner.error();
    return owner && *owner == lease.owner;
}

std::string Claim::describe() const {
    return "claim " + what;
}

Result<> Claim::apply(Site& site) const {
    auto done = site.host.files.create(lease.path, lease.owner);
    if (!done && done.error().code == Code::Busy)
        return base::make_error(Code::Busy, what + " is in use by another container")
            .advise("choose another, or see who has it: rdmactl list");
    return done;
}

Result<Undo> Claim::undo(Site& site) const {
    // Another owner has the lease: it was taken before, and apply() failed on it.
    if (!TRY(is_held(site, lease)))
        return Undo::gone();
    return undone_by(site.host.files.remove(lease.path));
}

}  // namespace hook
