// SPDX-License-Identifier: Apache-2.0
// The state changes of a queue pair that rdma_cm connects, with the attributes that rdma_cm has for
// them. What is not about the connection (access, timers, retries, MTU, depth of reads) is as it is
// without rdma_cm, so that the numbers of both can be compared: rdma_cm's own RNR timer would be
// 655 ms, its timeout seconds.
//
// iWARP: the kernel moves the queue pair to RTS by itself, when rdma_connect's answer comes and
// within rdma_accept; here it only gets its INIT.
#pragma once

#include "perf/protocol/plan.h"
#include "perf/verbs/cm/cm.h"
#include "perf/verbs/verbs.h"

namespace perf {

// A queue pair to be connected.
struct CmQueue {
    Verbs* verbs = nullptr;
    ibv_qp* qp = nullptr;
    unsigned access = 0;  // IBV_ACCESS_REMOTE_*: what the peer may do
    uint32_t mtu = 0;     // bytes; 0: what rdma_cm finds (iWARP has none)
    // RDMA READs and atomics in flight: what this side starts, and what it answers. At most what
    // the device can do; the peer's values limit them further.
    uint8_t initiator_depth = 0;
    uint8_t responder_depth = 0;
    bool software = false;  // the device: our own processors do its work
    Marks marks = {};       // put into the path: rdma-perf sets no TOS on ids that it accepts
};

// How a queue pair was connected, as far as the transport knows such things: all 0 for iWARP.
struct CmPath {
    uint32_t peer_qpn = 0;
    uint32_t mtu = 0;  // bytes
    uint32_t gid_index = 0;
};

// RESET to INIT.
Result<> move_to_init(const CmQueue& queue, const CmBound& bound);

// INIT to RTS, for an id that knows its peer.
Result<CmPath> move_to_rts(const CmQueue& queue, const CmBound& bound);

// What either side says of its queue pair.
rdma_conn_param connection_parameters(const CmQueue& queue);

}  // namespace perf
