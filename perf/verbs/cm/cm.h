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
#include "perf/base/names.h"

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
    virtual void destroy_channel(rdma_event_channel* channel) = 0;
    virtual int create_id(rdma_event_channel* channel, rdma_cm_id** id) = 0;
    // Waits for ever while an event of the id is not acknowledged.
    virtual int destroy_id(rdma_cm_id* id) = 0;
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
    virtual int ack_event(rdma_cm_event* event) = 0;

    // Of a bound id, in host order.
    virtual uint16_t port_of(rdma_cm_id* id) = 0;
};

// librdmacm itself.
Cm& system_cm();

// Gives an object back to the Cm that made it; nothing can be done about a failure.
struct CmRelease {
    Cm* cm = nullptr;

    void operator()(rdma_event_channel* p) const { cm->destroy_channel(p); }

    void operator()(rdma_cm_id* p) const { (void)cm->destroy_id(p); }

    void operator()(rdma_cm_event* p) const { (void)cm->ack_event(p); }
};

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
