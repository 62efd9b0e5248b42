// SPDX-License-Identifier: Apache-2.0
// Changes of links: checks before a request, and the meaning of the kernel's refusals. Private to
// netns/kernel/.
#pragma once

#include <string>

#include "netns/link.h"

namespace netns {

// BadInput for values that the kernel would refuse half-way, or take for a pattern ("%d").
Result<> check_change(const std::string& what, const LinkChange& change);
// Gives the kernel's refusal its code and advice.
base::Error explain_change(const LinkChange& change, base::Error refusal);

}  // namespace netns
