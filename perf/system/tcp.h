// SPDX-License-Identifier: Apache-2.0
// TCP for the control connection, and for data connections beside it: listen, accept and connect,
// all non-blocking with a deadline; and the addresses at both ends, which decide the GID (gid.h). A
// host that vanishes without a word is noticed by keepalive after about four seconds; a process
// that dies, at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/address/address.h"
#include "perf/base/names.h"
#include "perf/system/stop.h"

namespace perf {

inline constexpr uint16_t kDefaultPort = 18600;

struct Listener {
    UniqueFd fd;
    std::string name;  // "127.0.0.1:18600" with the port that was really taken
    uint16_t port = 0;
};

// Listens on each address; none given: 127.0.0.1 and, where there is IPv6, ::1. Port 0 takes any.
Result<std::vector<Listener>> listen_on(const std::vector<std::string>& addresses, uint16_t port);

// Listens where the connection `fd` has its own end, on any port; on 127.0.0.1 beside a socket that
// is neither IPv4 nor IPv6.
Result<Listener> listen_beside(int fd);

// A waiting connection; nothing if it went away before it was accepted.
Result<std::optional<UniqueFd>> accept_from(const Listener& listener);

// Tries every address of the host in order. Code::Unavailable if none answers. Name resolution
// itself is the C library's and bounded by resolv.conf, not by the deadline.
Result<UniqueFd> connect_to(const std::string& host,
                            uint16_t port,
                            const Deadline& deadline,
                            const Stop& stop);

// To another port of the host at the other end of the connection `fd`; of 127.0.0.1 likewise.
Result<UniqueFd> connect_beside(int fd, uint16_t port, const Deadline& deadline, const Stop& stop);

// The error of a failed call on a connection: Code::Unavailable if the other end is gone.
Error socket_error(int number, std::string what);

// Both ends of a connected socket; empty for a socket that is not IPv4 or IPv6.
std::optional<Address> local_address(int fd);
std::optional<Address> peer_address(int fd);

// The source address that the kernel of this network namespace uses towards `peer`, if it has a
// route. Asks with a connected UDP socket; nothing is sent.
std::optional<Address> route_source(const Address& peer);

// The same towards each address of a host, best first, each once. Nothing is sent but what name
// resolution sends. Code::Unavailable if the name means nothing or no route leads there.
Result<std::vector<Address>> sources_towards(const std::string& host);

}  // namespace perf
