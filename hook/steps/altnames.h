// SPDX-License-Identifier: Apache-2.0
// The further names (altnames) of a VF's netdev. A container with NET_ADMIN may give it some, and
// the kernel moves them along: one that is taken in the other namespace keeps the netdev from
// leaving, and one that comes back keeps it from every namespace that has that name.
#pragma once

#include <string>
#include <vector>

#include "hook/steps/step.h"
#include "netns/link.h"

namespace hook {

// Takes off the link all but those that it had on the host.
Result<> drop_altnames(Site& site,
                       const netns::Netns& ns,
                       const netns::Link& link,
                       const std::vector<std::string>& but);

}  // namespace hook
