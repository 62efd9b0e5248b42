// SPDX-License-Identifier: Apache-2.0
// Attach gives a container all that it asks for, or nothing. The process may die at any line:
// undoing needs only journals and records (end.h).
#pragma once

#include <optional>

#include "hook/container/asking.h"
#include "hook/container/delivery.h"
#include "hook/steps/plan.h"

namespace hook {

// Attaches all that the container asks for, and delivers it. A live container that has it already
// gets nothing more. A container with rdma.optional starts without RDMA if the host fails.
Result<Notes> attach_container(const Context& context, const Asking& asking, Delivery& delivery);

// Refuses rdmactl attach for a container that was started with rdma.* annotations, or is about to
// be. `earlier` is its record.
Result<> check_started_without(const Context& context, const Container& earlier);

// Returns the request with one attachment for each device: one that names several becomes as many,
// with indexes from its own on. `hosts_network`: the container is in the host's network namespace.
Result<Request> expand(const Context& context, Request request, bool hosts_network);

// Returns the plan of one attachment for rdmactl plan, and changes nothing. It names no namespace:
// there is none yet.
Result<Plan> make_plan(const Context& context,
                       const Container& container,
                       const std::optional<netns::Netns>& ns,
                       const Attachment& attachment);

}  // namespace hook
