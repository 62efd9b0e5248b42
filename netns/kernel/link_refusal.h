// SPDX-License-Identifier: Apache-2.0
// The meaning of the kernel's refusals to make or change a link, and the checks before a request.
// Private to netns/kernel/.
#pragma once

#include <string>

#include "netns/link.h"

namespace netns {

// BadInput for values that the kernel would refuse half-way, or take for a pattern ("%d").
Result<> check_change(const std::string& what, const LinkChange& change);
// Gives the kernel's refusal of a change its code and advice.
base::Error explain_change(const LinkChange& change, base::Error refusal);
// The same for a child that was not made. The kernel has one errno for many causes, so this looks at
// what is there.
base::Error explain_child(Links& links,
                          const Netns& host,
                          const Netns& target,
                          const ChildSpec& spec,
                          base::Error refusal);

}  // namespace netns
