// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/strict_arp.h"

#include "netns/link.h"

namespace hook {

Result<std::unique_ptr<Step>> StrictArp::load(const Json& json) {
    return make_step<StrictArp>(Args{.link = TRY(base::required<uint32_t>(json, "link"))});
}

std::string StrictArp::describe() const {
    return "answer ARP for the interface's own addresses only";
}

Result<> StrictArp::apply(Site& site) const {
    return site.host.links.set_strict_arp(*site.container, args_.link);
}

Json StrictArp::save() const {
    return base::object({{"link", args_.link}});
}

}  // namespace hook
