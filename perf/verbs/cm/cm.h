// SPDX-License-Identifier: Apache-2.0
// The calls of librdmacm that we use, behind one narrow interface, and owners for what they make.
// Tests put a fake behind it (tests/unit/perf/fake_cm.h). What is done with it: connection.h.
//
// librdmacm is loaded on first use (dlopen): rdma-perf runs without it where nobody asks for --cm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rdma/rdma_cma.h>

#include "perf/address/address.h"
#include "perf/verbs/verbs.h"

namespace perf {

// Calls answer as librdmacm does: null or -1 with errno. All ids are of RDMA_PS_TCP (RC) and have
// no queue pair of their own (id->qp is null). A bound id has its device in id->verbs, or null where
// no device has the address. Thread safe, but for two calls on one id.
class Cm {
  public:
    virtual ~Cm() = default;

    // Once before anything else. Code::Unsupported where there is no librdmacm, or one too old.
    virtual Result<> load() = 0;

    virtual rdma_event_channel* create_channel() = 0;
    virtual int create_id(rdma_event_channel* channel, rdma_cm_id** id) = 0;
    virtual int bind_addr(rdma_cm_id* id, sockaddr* address) = 0;
    virtual int listen(rdma_cm_id* id, int backlog) = 0;
    virtual int resolve_addr(rdma_cm_id* id, sockaddr* to, int timeout_ms) = 0;
    virtual int resolve_route(rdma_cm_id* id, int timeout_ms) = 0;
    virtual int connect(rdma_cm_id* id, rdma_conn_param* param) = 0;
    virtual int establish(rdma_cm_id* id) = 0;
    virtual int accept(rdma_cm_id* id, rdma_conn_param* param) = 0;
    virtual int reject(rdma_cm_id* id) = 0;
    virtual int disconnect(rdma_cm_id* id) = 0;
    virtual int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) = 0;
    virtual int get_event(rdma_event_channel* channel, rdma_cm_event** event) = 0;

    // Of a bound id, in host order.
    virtual uint16_t port_of(rdma_cm_id* id) = 0;

    // Gives an object back: acknowledges an event. An id waits for ever while one of its is not.
    virtual void release(rdma_event_channel* channel) = 0;
    virtual int release(rdma_cm_id* id) = 0;
    virtual int release(rdma_cm_event* event) = 0;
};

// librdmacm itself.
Cm& system_cm();

using CmRelease = ReleaseTo<Cm>;

template <class T>
using CmOwned = std::unique_ptr<T, CmRelease>;

// The port of an RDMA device.
struct CmDevice {
    std::string device;
    uint8_t port = 1;
    Address gid;  // iWARP: made of the MAC, no address
    bool iwarp = false;
};

}  // namespace perf
