// SPDX-License-Identifier: Apache-2.0
// What client (connection.cc) and server (listener.cc) share of a connection.
#pragma once

#include "perf/verbs/cm/connection.h"

namespace perf {

struct CmConnection::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    State(State&&) = delete;
    State& operator=(State&&) = delete;
    ~State();

    Result<> connect(const CmQueue& queue,
                     const Address& to,
                     const CmTicket& ticket,
                     uint16_t lane,
                     const CmWait& wait);

    CmBound bound;
    CmPath path;
    bool established = false;
};

// What either side says of its queue pair.
inline rdma_conn_param connection_parameters(const CmQueue& queue) {
    rdma_conn_param param{};
    param.responder_resources = queue.responder_depth;
    param.initiator_depth = queue.initiator_depth;
    param.flow_control = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    param.qp_num = queue.qp->qp_num;
    return param;
}

// Events that change nothing for a connection that is being made.
inline bool is_no_matter(rdma_cm_event_type type) {
    return type == RDMA_CM_EVENT_ADDR_CHANGE || type == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

}  // namespace perf
