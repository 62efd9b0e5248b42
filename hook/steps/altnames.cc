// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/altnames.h"

#include <algorithm>

#include "hook/store.h"

namespace hook {

namespace {
constexpr char kKey[] = "altnames";
}

void save_altnames(Json& json, const Altnames& altnames) {
    if (altnames)
        json[kKey] = *altnames;
}

Result<Altnames> load_altnames(const Json& json) {
    if (!json.contains(kKey))
        return Altnames{};
    return Altnames{TRY(string_list(json, kKey))};
}

Result<> drop_altnames(Site& site,
                       const netns::Netns& ns,
                       const netns::Link& link,
                       const Altnames& but) {
    if (!but)
        return {};
    for (const std::string& name : link.altnames) {
        if (std::ranges::find(*but, name) == but->end())
            TRY(site.host.links.remove_altname(ns, link.index, name));
    }
    return {};
}

}  // namespace hook
