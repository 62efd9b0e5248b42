// SPDX-License-Identifier: Apache-2.0
// Whether another process listens already. The kernel has no event for that: a socket says nothing
// when it begins to listen, and a trial connection would be taken for the client. So the table of
// sockets is looked at now and then.
#pragma once

#include <cstdint>
#include <string>

namespace perf::perftest {

// Whether the process ("/proc/PID") holds a TCP socket that listens on the port, in its own network
// namespace. Another's socket on that port does not count.
bool listens(const std::string& process, uint16_t port);

}  // namespace perf::perftest
