// SPDX-License-Identifier: Apache-2.0
// Options of either side of a measurement, besides the plan, and of commands that only look.
#pragma once

#include <chrono>
#include <string>

#include "perf/verbs/cm/cm.h"
#include "perf/verbs/device.h"

namespace perf {

struct SideOptions {
    DeviceWish wish;
    Buffers memory = host_memory();  // of points over a device
    bool by_cm = false;              // client: the plan connects by rdma_cm
    Cm* cm = &system_cm();
    std::chrono::milliseconds timeout{5000};  // of each step
    // A server: that a client is silent between its steps, busy with its other servers.
    std::chrono::milliseconds pause{30000};
    bool allow_isolation_tests = false;  // a server: of any client
};

// Of commands that look and change nothing.
struct LookOptions {
    std::string peer;  // empty: none
    uint16_t port = 0;
    std::string json;  // file, "-" for standard output, empty: none
    SideOptions side;
};

}  // namespace perf
