// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/add_address.h"

#include "netns/link.h"

namespace hook {

Result<std::unique_ptr<Step>> AddAddress::load(const Json& json) {
    const auto address = netns::parse_cidr(TRY(base::required<std::string>(json, "address")));
    if (!address)
        return base::make_error(base::Code::Internal, "add_address: broken address");
    return make_step<AddAddress>(Args{.link = TRY(base::required<uint32_t>(json, "link")),
                                      .address = *address,
                                      .with_link = TRY(base::required<bool>(json, "with_link"))});
}

std::string AddAddress::describe() const {
    return "add address " + netns::to_string(args_.address);
}

Result<> AddAddress::apply(Site& site) const {
    return site.host.links.add_address(*site.container, args_.link, args_.address);
}

Result<Undo> AddAddress::undo(Site& site) const {
    if (!site.container || args_.with_link)
        return Undo::gone();
    return undone_by(site.host.links.remove_address(*site.container, args_.link, args_.address));
}

Json AddAddress::save() const {
    return base::object({{"link", args_.link},
                         {"address", netns::to_string(args_.address)},
                         {"with_link", args_.with_link}});
}

}  // namespace hook
