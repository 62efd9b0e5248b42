// SPDX-License-Identifier: Apache-2.0
// The messages of the control protocol as types: what travels, and the check of every value that
// arrives. docs/rdma-perf/protocol.md has the messages, their order and the versions. `protocol`
// changes when an old peer could misunderstand; what is merely new is announced in `capabilities`.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "netns/base/json.h"
#include "perf/address/gid.h"
#include "perf/protocol/pattern.h"
#include "perf/protocol/plan.h"
#include "perf/system/cpu.h"

namespace perf {

inline constexpr int kProtocol = 2;

struct Hello {
    int protocol = kProtocol;  // a client's own; a server answers with the older one of both
    std::string version;       // of the program
    std::string host;
    std::string kernel;
    std::vector<std::string> capabilities;
    // The same in all containers of a machine, whose host names differ. Empty: an older side, or
    // one that cannot tell.
    std::string machine = {};
    Platform platform = {};
};

// What this program says of itself.
Hello own_hello();

bool can(const Hello& hello, std::string_view capability);

// Which adapter a device is, as far as its driver and sysfs say; empty: they do not.
struct Identity {
    std::string part = {};      // vendor and part id, "02c9:101d"
    std::string board = {};     // "MT_0000000359"
    std::string firmware = {};  // its version
    std::string pcie = {};      // as its slot runs now, "16.0 GT/s PCIe x16"
    std::string numa_node = {};
};

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
    bool iwarp = false;            // no path MTU, and a GID that is no address
    bool grh = false;              // InfiniBand: the port wants a GRH, or its user does
    uint64_t link_bps = 0;         // of the port; 0: unknown, or a software device, which has none
    Identity identity = {};
    std::string memory = "host";  // of this side's buffers, as --memory says it
    // Of the adapter's NUMA node, on which the measuring threads stay; 0: they run anywhere.
    uint32_t near_processors = 0;
};

// One side's queue pair and memory.
struct Endpoint {
    uint32_t qpn = 0;  // 24 bit
    uint32_t psn = 0;  // 24 bit
    uint64_t address = 0;
    uint64_t length = 0;
    uint32_t rkey = 0;
};

// How a client finds a listener, and shows that it is the one that was told of it.
struct CmTicket {
    uint16_t port = 0;
    uint64_t nonce = 0;    // random; against mistakes and strangers, not against who reads the wire
    bool confirm = false;  // the client sends nothing before the server says that accept() is done
};

// By which calls a side posts and polls. Empty: over TCP, of who posts nothing, or not told.
struct Means {
    std::string calls = {};    // "ibv_wr", or "ibv_post_send"
    std::string polling = {};  // "lazy": by ibv_start_poll(3); or "plain"
    std::string domain = {};   // of its threads: "parent", with a thread domain in it; or "none"
};

// What the server decided for a point.
struct Opened {
    std::vector<Endpoint> endpoints = {};  // of the lanes
    uint32_t mtu = 0;                      // bytes, for both sides
    Poll poll = {};
    uint32_t inline_bytes = 0;
    Ordering ordering = Ordering::Strict;  // of an older server, which says nothing, too
    uint32_t reads = 0;  // that the server has in flight; 0: it has none, or an older server
    std::optional<CmTicket> ticket = {};  // where rdma_cm finds the server
    Means means = {};
};

// Where a TCP point's data connections are to go.
struct StreamOffer {
    uint16_t port = 0;
    uint64_t secret = 0;
    Poll poll = {};  // the server's
};

inline uint64_t total_of(std::span<const uint64_t> by_lane) {
    return std::accumulate(by_lane.begin(), by_lane.end(), uint64_t{0});
}

// What a server has sent in a measurement.
struct Posted {
    std::vector<uint64_t> by_lane;  // with the warm-up
    uint64_t warmup_messages = 0;   // by iterations only
    uint64_t elapsed_ns = 0;        // by iterations only: of what is no warm-up
};

// A round of one lane; `from` whom its data comes, which its messages say by their kind. A number is
// used once, but for a look at what a measurement left: so many slots hold what it sent, which is
// the data of the round before it. Such a round sends no messages.
struct Round {
    uint32_t lane = 0;
    uint32_t number = 0;
    Side from = Side::Client;
    uint32_t left = 0;
};

// The outcome of the checks of one round or point.
struct Checked {
    uint64_t messages = 0;
    uint64_t bytes = 0;
    uint64_t lost = 0;     // never came: unreliable transports only
    uint64_t sampled = 0;  // looked at besides, while the point was measured

    struct Wrong {
        std::string side;  // "client" or "server": who saw it
        uint64_t message = 0;
        bool guard = false;  // in the guard band behind the message
        Mismatch mismatch;
    };

    std::optional<Wrong> wrong;  // the first one
};

// The page that a server exposes for negative tests. Its first pattern is that of round 0.
struct Exposure {
    uint64_t address = 0;
    uint64_t length = 0;
    uint32_t rkey = 0;               // may read and write
    uint32_t read_only_rkey = 0;     // may read
    uint32_t stale_rkey = 0;         // was deregistered
    uint32_t other_domain_rkey = 0;  // may read and write, in another protection domain
};

// A queue pair that takes datagrams.
struct Listening {
    Endpoint endpoint;
    uint32_t queue_key = 0;
};

inline constexpr size_t kMaxHeard = 64;

// What travels as an object.
template <class T>
concept Message = std::same_as<T, Hello> || std::same_as<T, Platform> ||
    std::same_as<T, DeviceInfo> || std::same_as<T, Means> || std::same_as<T, Point> ||
    std::same_as<T, Endpoint> || std::same_as<T, Opened> || std::same_as<T, StreamOffer> ||
    std::same_as<T, Checked> || std::same_as<T, Exposure> || std::same_as<T, Listening>;

template <Message T>
Json to_json(const T& value);

// Code::BadInput that names the member. A Point is within check_limits().
template <Message T>
Result<T> parse(const Json& json);

Json to_json(const std::vector<Endpoint>& endpoints);
Json to_json(const Round& round);
Json to_json(const Posted& posted);  // members of "stopped"
Json error_message(const Error& error);
std::string without_fix(Error error);  // its message

Result<std::vector<Endpoint>> parse_endpoints(const Json& frame);
Result<Posted> parse_posted(const Json& json, uint32_t lanes);
Result<Round> parse_round(const Json& json, const Point& point);

// A list of `lanes` counts.
Result<std::vector<uint64_t>> parse_counts(const Json& json, const char* key, uint32_t lanes);

// The member "endpoint".
Result<Endpoint> parse_endpoint_of(const Json& frame);

// The error that an "error" message carries, marked as the peer's.
Error parse_error_message(const Json& json);

// Returns the error for a message that no peer of this version sends here.
Error protocol_error(const std::string& what);

// Returns the same error. Bad input gets its fix here: only a peer of another version sends it, once
// the command line was read.
Error explain_input(Error error);

// Code::BadInput that names both versions and the side to upgrade, if the peer, which is `side`, is
// more than one version older. One that is newer decides itself.
Result<> check_compatible(const Hello& peer, Side side);

// Code::Unsupported that names the side to upgrade, if the point means something else in the version
// that the peer speaks.
Result<> check_meaning(const Point& point, const Hello& peer, Side side);

// {"type": type} and the members of `body`.
Json message(std::string_view type, Json body = Json::object());

// ---- rdma_cm ------------------------------------------------------------------------------------
// What a connect request carries as private data, 16 bytes, big endian: the four bytes "RPCM", the
// version (16 bit, 1), the lane (16 bit) and the listener's nonce (64 bit). InfiniBand and RoCE
// deliver 56 bytes, with zeros behind it; iWARP as many as were sent.
inline constexpr size_t kCmTagSize = 16;

struct CmTag {
    uint64_t nonce = 0;
    uint16_t lane = 0;

    bool operator==(const CmTag&) const = default;
};

std::array<std::byte, kCmTagSize> encode(const CmTag& tag);

// Nothing if it is too short, or of somebody else or another version.
std::optional<CmTag> decode_tag(std::span<const std::byte> data);

}  // namespace perf
