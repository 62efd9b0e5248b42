// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/queue_pair.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

namespace perf {

namespace {
// Datagrams have an address each: of UD, and of EFA's SRD.
bool has_peer(const ibv_qp* qp) {
    return qp->qp_type != IBV_QPT_UD && qp->qp_type != IBV_QPT_DRIVER;
}

constexpr char kNoRoute[] = "no route from the GID's netdev to the peer's GID";

constexpr std::pair<int, const char*> kRtrHints[] = {
    {ENODEV, "the GID's netdev is not in this network namespace: see --explain-gid"},
    {ETIMEDOUT,
     "no ARP or neighbour answer from the peer's address: wrong network, VLAN, or the peer's "
     "interface is down"},
    {EINVAL,
     "the GID is empty, the port wants a GRH (--gid), or the device has not that path MTU or as "
     "many reads: see --explain-gid"},
    {ENETUNREACH, kNoRoute},
    {EHOSTUNREACH, kNoRoute}};

ibv_ah_attr path_to(const End& end, const DeviceInfo& peer) {
    ibv_ah_attr path{};
    path.port_num = end.own.port;
    path.dlid = peer.lid;
    path.sl = static_cast<uint8_t>(end.marks.service_level);
    if (needs_grh(end.own, peer, end.marks)) {
        path.is_global = 1;
        path.grh.hop_limit = 64;
        path.grh.traffic_class = static_cast<uint8_t>(end.marks.traffic_class);
        path.grh.flow_label = end.marks.flow_label;
        path.grh.sgid_index = static_cast<uint8_t>(end.own.gid_index);
        path.grh.dgid = std::bit_cast<ibv_gid>(peer.gid);
    }
    return path;
}
}  // namespace

bool needs_grh(const DeviceInfo& own, const DeviceInfo& peer, const Marks& marks) {
    constexpr size_t kSubnetPrefix = 8;
    if (own.gid_type != GidType::InfiniBand)
        return true;
    return own.grh || peer.grh || marks.traffic_class != 0 || marks.flow_label != 0 ||
           !std::equal(own.gid.bytes.begin(),
                       own.gid.bytes.begin() + kSubnetPrefix,
                       peer.gid.bytes.begin());
}

Result<> to_init(const End& end, ibv_qp* qp, int access, uint32_t queue_key) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = end.own.port;
    attr.pkey_index = static_cast<uint16_t>(end.marks.pkey_index);
    const int remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    attr.qp_access_flags = static_cast<unsigned>(access & remote);
    attr.qkey = queue_key;
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                     (has_peer(qp) ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
    return outcome_of(end.verbs->modify_qp(qp, &attr, mask),
                      fmt::format("queue pair {} to INIT", qp->qp_num));
}

Result<> to_rtr(
    const End& end, ibv_qp* qp, const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = mtu_enum(mtu);
    attr.dest_qp_num = remote.qpn;
    attr.rq_psn = remote.psn;
    attr.max_dest_rd_atomic = static_cast<uint8_t>(end.own.responder_depth);
    attr.min_rnr_timer = 12;  // 0.64 ms
    attr.ah_attr = path_to(end, peer);
    // What each transport wants: ibv_modify_qp(3).
    int mask = IBV_QP_STATE;
    if (has_peer(qp))
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (qp->qp_type == IBV_QPT_RC)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    const int rc = end.verbs->modify_qp(qp, &attr, mask);
    return outcome_of(
               rc,
               fmt::format("queue pair {} to RTR (device {}, GID index {} {}, to {}, MTU {})",
                           qp->qp_num,
                           end.own.device,
                           end.own.gid_index,
                           end.own.gid.text(),
                           peer.gid.text(),
                           mtu))
        .advise(hint_for(kRtrHints, rc));
}

void set_retries(ibv_qp_attr& attr, bool software) {
    // Seven tries of 67 ms. A software device may have to wait that long for a processor: 268 ms.
    attr.timeout = software ? 16 : 14;
    attr.retry_cnt = 6;  // rxe takes 7 for "without end"
    attr.rnr_retry = 7;  // without end: our deadline is the limit, not the device's
}

Result<> to_rts(const End& end, ibv_qp* qp, const DeviceInfo& peer, uint32_t psn) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = psn;
    set_retries(attr, end.software);
    attr.max_rd_atomic =
        static_cast<uint8_t>(std::min(end.own.initiator_depth, peer.responder_depth));
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    // Of SRD newer adapters take it, and older ones nothing.
    if (qp->qp_type == IBV_QPT_DRIVER &&
        end.verbs->modify_qp(qp, &attr, mask | IBV_QP_RNR_RETRY) == 0)
        return {};
    return outcome_of(end.verbs->modify_qp(qp, &attr, mask),
                      fmt::format("queue pair {} to RTS", qp->qp_num));
}

Result<Owned<ibv_ah>> make_address_handle(const End& end, ibv_pd* pd, const DeviceInfo& peer) {
    ibv_ah_attr path = path_to(end, peer);
    Owned<ibv_ah> handle(end.verbs->create_ah(pd, &path), Release{end.verbs});
    if (handle)
        return handle;
    Error error = sys_error(
        fmt::format("make an address handle from {} to {}", end.own.gid.text(), peer.gid.text()));
    const int number = error.sys;
    return std::move(error).advise(hint_for(kRtrHints, number));
}

}  // namespace perf
