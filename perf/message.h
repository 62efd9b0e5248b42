// SPDX-License-Identifier: Apache-2.0
// The messages of the control protocol, version 1, as types: what travels, and the check of every
// value that arrives. The client asks, the server answers each message with one of its own:
//
//   hello    -> hello      both sides' program version, protocol and capabilities
//   device   -> device     the GID and port the other side will use
//   open     -> opened     one point; queue pairs are made and connected
//   verify   -> verified   one round in which the client sends data and the responder checks it
//   fill     -> filled     read: the responder puts the round's pattern into its memory
//   emit     -> emitted    ping-pong: one round of data from the server, checked by the client
//   start    -> started    the measurement begins; stop {messages} -> stopped ends it, with what
//                          the server's machine did meanwhile, if it can tell (account.h)
//   close    -> closed     both sides drop the queue pairs of the point
//   any      -> error      code, text and fix; the server then ends the connection
//
// The client ends by closing the connection. Versions: `protocol` changes when an old peer could
// misunderstand; what is merely new is announced in `capabilities`. Unknown members are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/json.h"
#include "perf/gid.h"
#include "perf/pattern.h"
#include "perf/plan.h"

namespace perf {

inline constexpr int kProtocol = 1;

struct Hello {
    int protocol = kProtocol;
    std::string version;  // of the program
    std::string host;
    std::string kernel;
    std::vector<std::string> capabilities;
};

// What this program says of itself.
Hello own_hello();

// One side's device as the other side and the report see it.
struct DeviceInfo {
    std::string device;
    std::string netdev;
    uint8_t port = 1;
    uint32_t gid_index = 0;
    Address gid;
    GidType gid_type = GidType::RoceV2;
    uint32_t active_mtu = 0;       // bytes
    uint16_t lid = 0;              // InfiniBand only
    uint32_t initiator_depth = 0;  // reads that it can have in flight
    uint32_t responder_depth = 0;  // reads that it can serve at once
    uint64_t link_bps = 0;         // of the port; 0: unknown, or a software device, which has none
};

// One side's queue pair and memory.
struct Endpoint {
    uint32_t qpn = 0;  // 24 bit
    uint32_t psn = 0;  // 24 bit
    uint64_t address = 0;
    uint64_t length = 0;
    uint32_t rkey = 0;
};

// What the server decided for a point.
struct Opened {
    Endpoint endpoint;
    uint32_t mtu = 0;  // bytes, for both sides
    PollMode poll = PollMode::Spin;
    uint32_t inline_bytes = 0;
};

// The outcome of the checks of one round or point.
struct Checked {
    uint64_t messages = 0;
    uint64_t bytes = 0;
    uint64_t lost = 0;  // never came: unreliable transports only

    struct Wrong {
        std::string side;  // "client" or "server": who saw it
        uint64_t message = 0;
        bool guard = false;  // in the guard band behind the message
        Mismatch mismatch;
    };

    std::optional<Wrong> wrong;  // the first one
};

base::Json to_json(const Hello& hello);
base::Json to_json(const DeviceInfo& info);
base::Json to_json(const Point& point);
base::Json to_json(const Endpoint& endpoint);
base::Json to_json(const Opened& opened);
base::Json to_json(const Checked& checked);
base::Json error_message(const base::Error& error);

base::Result<Hello> parse_hello(const base::Json& json);
base::Result<DeviceInfo> parse_device_info(const base::Json& json);
base::Result<Point> parse_point(const base::Json& json);  // within check_limits
base::Result<Endpoint> parse_endpoint(const base::Json& json);
base::Result<Opened> parse_opened(const base::Json& json);
base::Result<Checked> parse_checked(const base::Json& json);

// The error that an "error" message carries, marked as the peer's.
base::Error parse_error_message(const base::Json& json);

// Code::BadInput that names both versions and the side to upgrade, if the two cannot work together.
base::Result<> check_compatible(const Hello& own, const Hello& peer);

// {"type": type} and the members of `body`.
base::Json message(std::string_view type, base::Json body = base::Json::object());

}  // namespace perf
