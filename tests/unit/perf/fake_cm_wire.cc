// SPDX-License-Identifier: Apache-2.0
// How FakeCm's ids find and answer each other, and the attributes that come of it.
#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/perf/fake_cm_objects.h"

namespace test {

namespace {
constexpr size_t kRoceDataSize = 56;  // whatever was sent
constexpr uint32_t kStrangersNumber = 0x999;
constexpr int kRejectedByProgram = 28;
constexpr int kRejectedNoService = 8;

using WireGuard = std::lock_guard<std::mutex>;
}  // namespace

FakeCm::Id* FakeCm::listener_at(const perf::Address& address, uint16_t port) {
    const auto it = std::ranges::find_if(ids_, [&](Id* id) {
        return id->state == Id::State::Listening && id->device->address == address &&
               id->port == port;
    });
    return it != ids_.end() ? *it : nullptr;
}

int FakeCm::listen(rdma_cm_id* id, int backlog) {
    const WireGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (refuse(Call::Listen) != 0)
        return -1;
    if (own->state != Id::State::Bound || backlog <= 0)
        return wrong_state("an id listens that is not bound");
    own->state = Id::State::Listening;
    return 0;
}

int FakeCm::resolve_addr(rdma_cm_id* id, sockaddr* to, int timeout_ms) {
    std::unique_lock<std::mutex> guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (refuse(Call::ResolveAddr) != 0)
        return -1;
    if (own->state != Id::State::Bound || timeout_ms <= 0)
        return wrong_state("an address is resolved by an id that is not bound");
    if (missed_ > 0) {
        --missed_;
        guard.unlock();
        (void)::poll(nullptr, 0, timeout_ms);
        guard.lock();
        send(*own, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
        return 0;
    }
    own->to = perf::from_sockaddr(to).value();
    own->to_port = ntohs(reinterpret_cast<sockaddr_in*>(to)->sin_port);
    own->state = Id::State::AddrResolved;
    send(*own, RDMA_CM_EVENT_ADDR_RESOLVED);
    return 0;
}

int FakeCm::resolve_route(rdma_cm_id* id, int timeout_ms) {
    const WireGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (refuse(Call::ResolveRoute) != 0)
        return -1;
    if (own->state != Id::State::AddrResolved || timeout_ms <= 0)
        return wrong_state("a route is resolved before its address");
    own->state = Id::State::RouteResolved;
    send(*own, RDMA_CM_EVENT_ROUTE_RESOLVED);
    return 0;
}

void FakeCm::request(Id& listener, Id* client, Bytes private_data, bool for_ever) {
    Id* child = make_id(static_cast<Channel*>(listener.channel));
    child->state = Id::State::Asked;
    child->device = listener.device;
    child->listener = &listener;
    child->for_ever = for_ever;
    child->peer = client;
    child->peer_number = client != nullptr ? client->number : kStrangersNumber;
    // What one side starts the other answers.
    child->responder_depth = client != nullptr ? client->initiator_depth : uint8_t{1};
    child->initiator_depth = client != nullptr ? client->responder_depth : uint8_t{1};
    if (!listener.device->iwarp)
        private_data.resize(std::max(private_data.size(), kRoceDataSize));
    child->asked = std::move(private_data);
    send(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, child);
    if (substitutes_.contains(RDMA_CM_EVENT_CONNECT_REQUEST))
        forget(child);
    else if (client != nullptr)
        client->peer = child;
}

int FakeCm::connect(rdma_cm_id* id, rdma_conn_param* param) {
    std::unique_lock<std::mutex> guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (refuse(Call::Connect) != 0)
        return -1;
    if (own->state != Id::State::RouteResolved)
        return wrong_state("an id connects without a route");
    if (blocking_) {
        guard.unlock();
        return ::pause();
    }
    if (verbs_->state_of(param->qp_num) != IBV_QPS_INIT)
        return wrong_state("a queue pair connects that is not in INIT");
    own->number = param->qp_num;
    own->initiator_depth = param->initiator_depth;
    own->responder_depth = param->responder_resources;
    own->state = Id::State::Asking;
    const auto* data = static_cast<const std::byte*>(param->private_data);
    if (Id* listener = listener_at(own->to, own->to_port); listener != nullptr) {
        request(*listener, own, Bytes(data, data + param->private_data_len), false);
    } else if (own->device->iwarp) {
        own->state = Id::State::RouteResolved;
        errno = ECONNREFUSED;
        return -1;
    } else {
        own->state = Id::State::Closed;
        send(*own, RDMA_CM_EVENT_REJECTED, kRejectedNoService);
    }
    return 0;
}

void FakeCm::tell_rejected(Id& child) {
    if (child.peer == nullptr)
        return;
    child.peer->state = Id::State::Closed;
    send(*child.peer,
         RDMA_CM_EVENT_REJECTED,
         child.device->iwarp ? -ECONNRESET : kRejectedByProgram);
    child.peer->peer = nullptr;
    child.peer = nullptr;
}

int FakeCm::reject(rdma_cm_id* id) {
    const WireGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (own->state != Id::State::Asked)
        return wrong_state("a request is rejected that was answered");
    ++rejected_;
    own->state = Id::State::Closed;
    tell_rejected(*own);
    if (own->for_ever && own->listener != nullptr)
        request(*own->listener, nullptr, own->asked, true);
    return 0;
}

int FakeCm::accept(rdma_cm_id* id, rdma_conn_param* param) {
    const WireGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (refuse(Call::Accept) != 0)
        return -1;
    if (own->state != Id::State::Asked)
        return wrong_state("a request is accepted that was answered");
    if (param->responder_resources > own->responder_depth ||
        param->initiator_depth > own->initiator_depth)
        return wrong_state("more reads are accepted than were asked for");
    own->number = param->qp_num;
    own->state = Id::State::Replied;
    if (own->peer == nullptr)  // a stranger with the right ticket never confirms
        return 0;
    own->peer->peer_number = own->number;
    own->peer->responder_depth = param->initiator_depth;
    own->peer->initiator_depth = param->responder_resources;
    if (!own->device->iwarp) {
        if (verbs_->state_of(own->number) != IBV_QPS_RTS)
            complain("a request is accepted for a queue pair that is not in RTS");
        own->peer->state = Id::State::Replied;
        send(*own->peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
        return 0;
    }
    verbs_->connect_iwarp(own->number, own->peer->number);
    for (Id* each : {own, own->peer}) {
        each->state = Id::State::Established;
        send(*each, RDMA_CM_EVENT_ESTABLISHED);
    }
    return 0;
}

int FakeCm::establish(rdma_cm_id* id) {
    const WireGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (refuse(Call::Establish) != 0)
        return -1;
    if (own->state != Id::State::Replied || own->device->iwarp)
        return wrong_state("a connection is confirmed that was not answered");
    if (verbs_->state_of(own->number) != IBV_QPS_RTS)
        complain("a connection is confirmed for a queue pair that is not in RTS");
    own->state = Id::State::Established;
    own->peer->state = Id::State::Established;
    send(*own->peer, RDMA_CM_EVENT_ESTABLISHED);
    return 0;
}

int FakeCm::disconnect(rdma_cm_id* id) {
    const WireGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    ++disconnects_;
    part(*own);
    own->state = Id::State::Closed;
    return 0;
}

// ---- attributes, as the kernel gives them -------------------------------------------------------
void FakeCm::init_attributes(const Id& id, ibv_qp_attr& attr, int& mask) {
    mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (!id.device->iwarp)
        mask |= IBV_QP_PKEY_INDEX;
    attr.port_num = 1;
    attr.qp_access_flags = 0;
}

void FakeCm::path_attributes(const Id& id, ibv_qp_attr& attr, int& mask) {
    if (attr.qp_state == IBV_QPS_RTS) {
        mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
               IBV_QP_MAX_QP_RD_ATOMIC;
        attr.timeout = 19;  // 2 s: what rdma_cm takes for RoCE
        attr.max_rd_atomic = id.initiator_depth;
        return;
    }
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.sgid_index = 1;
    attr.ah_attr.grh.traffic_class = kCmTrafficClass;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = id.peer_number;
    attr.min_rnr_timer = 0;  // 655 ms
    attr.max_dest_rd_atomic = id.responder_depth;
}

int FakeCm::init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) {
    const WireGuard guard(lock_);
    const auto& own = *static_cast<Id*>(id);
    if (refuse(Call::InitAttributes) != 0)
        return -1;
    const bool connecting = own.state == Id::State::Asked || own.state == Id::State::Replied;
    if (attr->qp_state == IBV_QPS_INIT && own.state == Id::State::Bound) {
        init_attributes(own, *attr, *mask);
    } else if (connecting && !own.device->iwarp) {
        path_attributes(own, *attr, *mask);
    } else {
        return wrong_state("attributes are asked for that an id in this state has not");
    }
    return 0;
}

}  // namespace test
