// SPDX-License-Identifier: Apache-2.0
// Options of either side of a measurement, besides the plan.
#pragma once

#include <chrono>

#include "perf/cm/cm.h"
#include "perf/device.h"
#include "perf/perftest/program.h"

namespace perf {

struct SideOptions {
    DeviceWish wish;
    bool by_cm = false;  // client: the plan connects by rdma_cm
    Cm* cm = &system_cm();
    std::chrono::milliseconds timeout{5000};  // of each step
    // A server: that a client is silent between its steps, busy with its other servers.
    std::chrono::milliseconds pause{30000};
    bool allow_isolation_tests = false;  // a server: of any client
    bool allow_perftest = false;         // a server: to any client
    perftest::Folders perftest_folders = perftest::system_folders();
};

}  // namespace perf
