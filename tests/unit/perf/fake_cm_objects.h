// SPDX-License-Identifier: Apache-2.0
// The objects behind FakeCm's handles; only fake_cm.cc (ids, events) and fake_cm_wire.cc
// (connections) know them.
#pragma once

#include "tests/unit/perf/fake_cm.h"

namespace test {

struct FakeCm::Channel : rdma_event_channel {
    std::deque<Event*> events;
};

struct FakeCm::Id : rdma_cm_id {
    enum class State {
        Idle,
        Bound,
        Listening,
        AddrResolved,
        RouteResolved,
        Asked,    // server: the request is not answered
        Asking,   // client: no answer yet
        Replied,  // between an answer and its confirmation
        Established,
        Closed
    };

    State state = State::Idle;
    const FakeCmDevice* device = nullptr;
    ibv_device adapter{};  // what rdma_cm_id::verbs leads to, once it is bound
    ibv_context opened{};
    perf::Address to;
    uint16_t port = 0;
    uint16_t to_port = 0;
    Id* peer = nullptr;
    Id* listener = nullptr;
    bool for_ever = false;
    uint32_t number = 0;       // of our queue pair
    uint32_t peer_number = 0;  // of the peer's
    uint8_t initiator_depth = 0;
    uint8_t responder_depth = 0;
    Bytes asked;
    unsigned unacknowledged = 0;
};

struct FakeCm::Event : rdma_cm_event {
    Id* counted = nullptr;  // whose destruction waits for the acknowledgement
    Bytes data;
};

}  // namespace test
