// SPDX-License-Identifier: Apache-2.0
// Explains why the kernel did not make a child of a link. Private to netns/kernel/.
#pragma once

#include "netns/link.h"

namespace netns {

// Gives the refusal its code and advice. The kernel has one errno for many causes, so this looks at
// what is there.
base::Error explain_child(Links& links,
                          const Netns& host,
                          const Netns& target,
                          const ChildSpec& spec,
                          base::Error refusal);

}  // namespace netns
