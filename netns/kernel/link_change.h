// SPDX-License-Identifier: Apache-2.0
// Changes of links: what is refused beforehand, and what the kernel's refusals mean. Private to
// netns/.
#pragma once

#include <string>

#include "netns/link.h"

namespace netns {

// BadInput for what the kernel would refuse half-way, or take for a pattern ("%d").
Result<> check_change(const std::string& what, const LinkChange& change);
// The kernel's refusal with its code and advice.
base::Error explain_change(const LinkChange& change, base::Error refusal);

}  // namespace netns
