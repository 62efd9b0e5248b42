// SPDX-License-Identifier: Apache-2.0
// Attach: all that a container asks for, or nothing. The process may die at any line: undoing needs
// nothing but journals and records (end.h).
#pragma once

#include <optional>

#include "hook/container/asking.h"
#include "hook/container/delivery.h"
#include "hook/steps/plan.h"

namespace hook {

// Attaches all that is asked for and delivers it. A container that lives and has it already gets
// nothing more; one that may do without (rdma.optional) starts without.
Result<Notes> attach_container(const Context& context, const Asking& asking, Delivery& delivery);

// The plan of one attachment for rdmactl plan, without doing anything. No namespace: there is none
// yet.
Result<Plan> make_plan(const Context& context,
                       const Container& container,
                       const std::optional<netns::Netns>& ns,
                       const Attachment& attachment);

}  // namespace hook
