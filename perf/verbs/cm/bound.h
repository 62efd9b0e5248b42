// SPDX-License-Identifier: Apache-2.0
// An id of rdma_cm bound to a local address, and so to a device: what client and server begin with.
#pragma once

#include <string>

#include "perf/address/address.h"
#include "perf/verbs/cm/cm.h"

namespace perf {

// Where an id is bound.
struct CmPlace {
    Address address;     // a local one; any free port is taken
    std::string device;  // of the queue pairs: an address that leads to another one is an error
};

// The port of an RDMA device.
struct CmDevice {
    std::string device;
    uint8_t port = 1;
    Address gid;  // iWARP: made of the MAC, no address
    bool iwarp = false;
};

struct CmBound {
    Cm* cm = nullptr;
    CmChannel channel{};
    CmOwned<rdma_cm_id> id{};  // goes before its channel
    CmDevice device{};
    // For INIT. Taken at once: an id that listens has none any more.
    ibv_qp_attr init{};
    int init_mask = 0;
};

// An empty device in the place is any. Code::Unsupported if no device, or another one, has the
// address.
Result<CmBound> bind_id(Cm& cm, const CmPlace& place);

}  // namespace perf
