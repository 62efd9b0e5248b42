// SPDX-License-Identifier: Apache-2.0
// Exit codes of rdma-perf. They are an interface: scripts decide by them.
// docs/reference/exit-codes.md has the same table.
#pragma once

#include "perf/base/names.h"

namespace perf {

enum class Exit : int {
    Ok = 0,
    Internal = 1,      // a bug, or a failure that nothing here explains
    Usage = 2,         // command line or plan
    Corruption = 3,    // data did not arrive as it was sent
    Threshold = 4,     // what --expect demands is not so
    Peer = 5,          // cannot connect, or the peer was lost
    Environment = 6,   // device, GID, permission, memory limit
    Isolation = 7,     // isolate: something worked that must not
    Version = 8,       // the peer speaks another protocol, or lacks a capability
    Deadline = 124,    // as timeout(1)
    Interrupted = 130  // SIGINT or SIGTERM
};

Exit exit_of(const Error& error);

}  // namespace perf
