// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/claim.h"

#include "hook/state/store.h"

namespace hook {

Json to_json(const Lease& lease) {
    return base::object({{"path", lease.path}, {"owner", lease.owner}});
}

Result<Lease> lease_from_json(const Json& json) {
    const auto inner = json.find("lease");
    if (inner == json.end())
        return base::make_error(base::Code::Internal, "a step without its lease");
    Lease lease;
    lease.path = TRY(base::required<std::string>(*inner, "path"));
    lease.owner = TRY(base::required<std::string>(*inner, "owner"));
    return lease;
}

Result<bool> is_held(Site& site, const Lease& lease) {
    const auto owner = site.host.files.read(lease.path, kMaxStateFile);
    if (!owner && !base::is_missing(owner.error()))
        return owner.error();
    return owner && *owner == lease.owner;
}

Result<std::unique_ptr<Step>> Claim::load(const Json& json) {
    Args args;
    args.what = TRY(base::required<std::string>(json, "what"));
    args.lease = TRY(lease_from_json(json));
    return make_step<Claim>(std::move(args));
}

std::string Claim::describe() const {
    return "claim " + args_.what;
}

Result<> Claim::apply(Site& site) const {
    auto done = site.host.files.create(args_.lease.path, args_.lease.owner);
    if (!done && done.error().code == base::Code::Busy)
        return base::make_error(base::Code::Busy, args_.what + " is in use by another container")
            .advise("choose another, or see who has it: rdmactl list");
    return done;
}

Result<Undo> Claim::undo(Site& site) const {
    // Not ours: it was taken before we came, and our apply failed on it.
    if (!TRY(is_held(site, args_.lease)))
        return Undo::gone();
    return undone_by(site.host.files.remove(args_.lease.path));
}

Json Claim::save() const {
    return base::object({{"what", args_.what}, {"lease", to_json(args_.lease)}});
}

}  // namespace hook
