// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/raise_representor.h"

#include <fmt/format.h>

#include "hook/steps/eswitch.h"

namespace hook {

Result<std::unique_ptr<Step>> RaiseRepresentor::load(const Json& json) {
    Args args;
    args.eswitch = TRY(base::required<std::string>(json, "eswitch"));
    args.port = TRY(base::required<std::string>(json, "port"));
    args.index = TRY(base::required<uint32_t>(json, "index"));
    args.mtu_before = TRY(base::required<uint32_t>(json, "mtu_before"));
    args.mtu = TRY(base::required<uint32_t>(json, "mtu"));
    args.up_before = TRY(base::required<bool>(json, "up_before"));
    args.lease = TRY(lease_from_json(json));
    return make_step<RaiseRepresentor>(std::move(args));
}

std::string RaiseRepresentor::describe() const {
    return fmt::format(
        "bring representor {} of {} up (mtu {})", args_.port, args_.eswitch, args_.mtu);
}

Result<> RaiseRepresentor::apply(Site& site) const {
    netns::LinkChange change;
    if (args_.mtu_before != args_.mtu)
        change.mtu = args_.mtu;
    change.up = true;
    return site.host.links.change(site.host_ns, args_.index, change);
}

Result<Undo> RaiseRepresentor::undo(Site& site) const {
    if (!TRY(is_held(site, args_.lease)))
        return Undo::gone();
    const auto link = TRY(find_representor(site, args_.eswitch, args_.port));
    if (!link || (link->mtu == args_.mtu_before && link->up == args_.up_before))
        return Undo::gone();
    netns::LinkChange change;
    if (link->mtu != args_.mtu_before)
        change.mtu = args_.mtu_before;
    change.up = args_.up_before;
    return undone_by(site.host.links.change(site.host_ns, link->index, change));
}

Json RaiseRepresentor::save() const {
    return base::object({{"eswitch", args_.eswitch},
                         {"port", args_.port},
                         {"index", args_.index},
                         {"mtu_before", args_.mtu_before},
                         {"mtu", args_.mtu},
                         {"up_before", args_.up_before},
                         {"lease", to_json(args_.lease)}});
}

}  // namespace hook
