// SPDX-License-Identifier: Apache-2.0
// What a command works with: the options of a side besides the plan, and its surroundings.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "perf/protocol/message.h"
#include "perf/system/stop.h"
#include "perf/verbs/device.h"
#include "perf/verbs/verbs.h"

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
    int protocol = kProtocol;            // client: the version that it asks for
};

// Of commands that look and change nothing.
struct LookOptions {
    std::string peer;  // empty: none
    uint16_t port = 0;
    std::string json;  // file, "-" for standard output, empty: none
    SideOptions side;
};

struct Surroundings {
    Verbs& verbs;
    Stop& stop;
    std::FILE* out;  // results
    std::FILE* err;  // everything else
    // What a server does once it listens, before it hears anybody. main gives up there what it does
    // not need (netns/base/confine.h).
    std::function<Result<>()> settle_down = [] { return Result<>{}; };
};

}  // namespace perf
