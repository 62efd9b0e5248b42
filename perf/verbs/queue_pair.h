// SPDX-License-Identifier: Apache-2.0
// The state changes that take a queue pair from RESET to RTS (ibv_modify_qp(3)), with the reason
// for a refusal in words. The transport is the queue pair's own (ibv_qp.qp_type): RC, UC, UD or SRD.
#pragma once

#include "perf/protocol/message.h"
#include "perf/verbs/device.h"
#include "perf/verbs/verbs.h"

namespace perf {

// This end of a connection: port and GID that packets leave from.
struct End {
    Verbs* verbs = nullptr;
    DeviceInfo own;
    bool software = false;  // our own processors do the device's work
    Marks marks = {};
};

inline End end_of(const Device& device) {
    return {.verbs = device.verbs, .own = device.info, .software = device.software};
}

// Whether packets between the two carry a GRH. RoCE's always do; InfiniBand's where a port demands
// it (IBV_QPF_GRH_REQUIRED: applications must, says ibv_query_port(3)), where the subnets differ,
// and for what only a GRH has.
bool needs_grh(const DeviceInfo& own, const DeviceInfo& peer, const Marks& marks);

// How long RC waits for an answer, and how often it asks again, in the attributes for RTS.
void set_retries(ibv_qp_attr& attr, bool software);

// 24 bits. They need not be secret, only unlikely to match a stale connection's.
inline uint32_t random_psn() {
    return static_cast<uint32_t>(random_seed() & 0xffffff);
}

// `access`: what the other side may do, of the remote ones; UD and SRD have `queue_key` instead.
Result<> to_init(const End& end, ibv_qp* qp, int access, uint32_t queue_key);

// `mtu` in bytes. Of `remote` the numbers of queue pair and packet.
Result<> to_rtr(
    const End& end, ibv_qp* qp, const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu);

// `psn`: of the first packet to be sent.
Result<> to_rts(const End& end, ibv_qp* qp, const DeviceInfo& peer, uint32_t psn);

// Where datagrams go.
Result<Owned<ibv_ah>> make_address_handle(const End& end, ibv_pd* pd, const DeviceInfo& peer);

}  // namespace perf
