// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/queue.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/verbs/queue_pair.h"

namespace perf {

namespace {
Result<> change_state(const CmQueue& queue, ibv_qp_attr& attr, int mask, const char* name) {
    const int rc = queue.verbs->modify_qp(queue.qp, &attr, mask);
    if (rc != 0)
        return sys_error(rc, fmt::format("queue pair {} to {}", queue.qp->qp_num, name));
    return {};
}

Result<int> ask_for(ibv_qp_state state, const CmBound& bound, ibv_qp_attr& attr) {
    attr = {};
    attr.qp_state = state;
    int mask = 0;
    if (bound.cm->init_qp_attr(bound.id.get(), &attr, &mask) != 0)
        return call_error("ask rdma_cm how to connect a queue pair on " + bound.device.device);
    return mask;
}

void mark(ibv_ah_attr& path, const Marks& marks) {
    if (marks.traffic_class != 0)
        path.grh.traffic_class = static_cast<uint8_t>(marks.traffic_class);
    if (marks.flow_label != 0)
        path.grh.flow_label = marks.flow_label;
    if (marks.service_level != 0)
        path.sl = static_cast<uint8_t>(marks.service_level);
}

std::string path_text(const CmBound& bound, const CmPath& path) {
    return fmt::format(
        "device {}, GID index {}, path MTU {}", bound.device.device, path.gid_index, path.mtu);
}
}  // namespace

Result<> move_to_init(const CmQueue& queue, const CmBound& bound) {
    ibv_qp_attr attr = bound.init;
    attr.qp_access_flags = queue.access;
    return change_state(queue, attr, bound.init_mask, "INIT");
}

Result<CmPath> move_to_rts(const CmQueue& queue, const CmBound& bound) {
    if (bound.device.iwarp)
        return CmPath{};
    ibv_qp_attr attr{};
    const int to_rtr = TRY(ask_for(IBV_QPS_RTR, bound, attr));
    if (queue.mtu != 0)
        attr.path_mtu = mtu_enum(queue.mtu);
    mark(attr.ah_attr, queue.marks);
    attr.min_rnr_timer = 12;  // 0.64 ms
    attr.max_dest_rd_atomic = std::min(attr.max_dest_rd_atomic, queue.responder_depth);
    const CmPath path{.peer_qpn = attr.dest_qp_num,
                      .mtu = mtu_bytes(attr.path_mtu),
                      .gid_index = attr.ah_attr.grh.sgid_index};
    TRY(change_state(queue, attr, to_rtr, "RTR").context(path_text(bound, path)));
    const int to_rts = TRY(ask_for(IBV_QPS_RTS, bound, attr));
    set_retries(attr, queue.software);
    attr.max_rd_atomic = std::min(attr.max_rd_atomic, queue.initiator_depth);
    TRY(change_state(queue, attr, to_rts, "RTS"));
    return path;
}

rdma_conn_param connection_parameters(const CmQueue& queue) {
    rdma_conn_param param{};
    param.responder_resources = queue.responder_depth;
    param.initiator_depth = queue.initiator_depth;
    param.flow_control = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    param.qp_num = queue.qp->qp_num;
    return param;
}

}  // namespace perf
