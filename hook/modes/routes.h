// SPDX-License-Identifier: Apache-2.0
// The routes of an interface that a mode makes or moves into a container.
#pragma once

#include "hook/modes/mode.h"

namespace hook {

// Adds the steps for rdma.gateway and rdma.routes, and those that keep several rails apart. They
// come after those for the endpoint's addresses.
//
// rdma.routes go into the main table, which every packet may use. A gateway goes into the
// interface's own table, in which only packets from its addresses look. So the container's default
// route stays as the engine made it. RoCE always sends from its GID's address and so finds its
// router. A rail beside others has such a table in any case. Two rails on one network have one
// route in the main table, and the second rail's packets would leave through the first.
void add_routes(Plan& plan, const Attachment& attachment);

}  // namespace hook
