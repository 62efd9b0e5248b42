// SPDX-License-Identifier: Apache-2.0
// The further names (altnames) of a VF's netdev. A container with NET_ADMIN may give it some, and
// the kernel moves them along: one that is taken in the other namespace keeps the netdev from
// leaving, and one that comes back keeps it from every namespace that has that name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/step.h"
#include "netns/link.h"

namespace hook {

// Those that it had on the host; nothing: not known, an older version's journal.
using Altnames = std::optional<std::vector<std::string>>;

void save_altnames(Json& json, const Altnames& altnames);  // the member "altnames"
Result<Altnames> load_altnames(const Json& json);

// Takes off the link all that are not among them.
Result<> drop_altnames(Site& site,
                       const netns::Netns& ns,
                       const netns::Link& link,
                       const Altnames& but);

}  // namespace hook
