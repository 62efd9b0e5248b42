// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/claim_address.h"

#include "hook/store.h"

namespace hook {

Result<std::unique_ptr<Step>> ClaimAddress::load(const Json& json) {
    return make_step<ClaimAddress>(
        Args{.address = TRY(base::required<std::string>(json, "address")),
             .path = TRY(base::required<std::string>(json, "path")),
             .owner = TRY(base::required<std::string>(json, "owner"))});
}

std::string ClaimAddress::describe() const {
    return "claim address " + args_.address;
}

Result<> ClaimAddress::apply(Site& site) const {
    auto done = site.host.files.create(args_.path, args_.owner);
    if (!done && done.error().code == base::Code::Busy)
        return base::make_error(base::Code::Busy,
                                "address " + args_.address + " is in use by another container")
            .advise("choose another rdma.ip, or see who has it: rdmactl list");
    return done;
}

Result<> ClaimAddress::undo(Site& site) const {
    const auto owner = site.host.files.read(args_.path, kMaxStateFile);
    if (!owner)
        return base::is_missing(owner.error()) ? Result<>{} : Result<>{owner.error()};
    // Not ours: the address was taken before we came, and our apply failed on it.
    return *owner == args_.owner ? site.host.files.remove(args_.path) : Result<>{};
}

Json ClaimAddress::save() const {
    return {{"address", args_.address}, {"path", args_.path}, {"owner", args_.owner}};
}

}  // namespace hook
