// SPDX-License-Identifier: Apache-2.0
// Why the kernel did not make a child of a link. Private to netns/.
#pragma once

#include "netns/link.h"

namespace netns {

// The refusal with its code, and with what an operator can do: the kernel has one number for many
// causes, so this looks at what is there.
base::Error explain_child(Links& links,
                          const Netns& host,
                          const Netns& target,
                          const ChildSpec& spec,
                          base::Error refusal);

}  // namespace netns
