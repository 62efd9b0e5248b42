// SPDX-License-Identifier: Apache-2.0
// The routes of an interface that a mode makes or moves into a container.
#pragma once

#include "hook/modes/mode.h"

namespace hook {

// The steps for rdma.gateway and rdma.routes, and what keeps several rails apart; after those for
// the endpoint's addresses.
//
// rdma.routes go into the main table, where everybody finds them. A gateway goes into a table of
// the interface's own, which only packets from its addresses look into: the container's default
// route stays what the engine made it, and RoCE, which always sends from its GID's address, finds
// its router. A rail beside others has such a table in any case: two rails on one network have one
// route in the main table, by which what the second sends would leave through the first.
void add_routes(Plan& plan, const Attachment& attachment);

}  // namespace hook
