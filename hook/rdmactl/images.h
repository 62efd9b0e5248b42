// SPDX-License-Identifier: Apache-2.0
// Looks at the verbs library of a running container's image, for rdmactl verify.
#pragma once

#include "hook/container/end.h"
#include "netns/base/findings.h"

namespace hook::ctl {

// Returns a finding for each device of the container: Warning if programs of its image cannot open
// it; Skipped if it has no library for that, or cannot be judged.
base::Findings look_at_image(const Context& context, const Container& container);

}  // namespace hook::ctl
