// SPDX-License-Identifier: Apache-2.0
// What rdma_cm reports when it cannot do something, in words.
#pragma once

#include <string>

#include "perf/verbs/cm/cm.h"

namespace perf {

// The Error of an event that is not the one waited for. Code::Unavailable where the peer or the way
// to it is to blame. The status of an event is 0, a negative errno, or the transport's own number.
Error event_error(const rdma_cm_event& event, bool iwarp);

// The Error of a call that failed with errno. `what` names the call and its object.
Error call_error(const std::string& what);

// Events that change nothing for a connection that is being made.
inline bool is_no_matter(rdma_cm_event_type type) {
    return type == RDMA_CM_EVENT_ADDR_CHANGE || type == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

}  // namespace perf
