// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/altnames.h"

#include <algorithm>

namespace hook {

Result<> drop_altnames(Site& site,
                       const netns::Netns& ns,
                       const netns::Link& link,
                       const std::vector<std::string>& but) {
    for (const std::string& name : link.altnames) {
        if (std::ranges::find(but, name) == but.end())
            TRY(site.host.links.remove_altname(ns, link.index, name));
    }
    return {};
}

}  // namespace hook
