// SPDX-License-Identifier: Apache-2.0
// Plan and Point: what is measured. A Plan is what the person asked for (a matrix); expand() makes
// the Points, each one test with nothing left open. A Point also travels to the server, which
// checks it against the limits here before it believes any value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/base/words.h"
#include "perf/system/reading.h"

namespace perf {

enum class Verb { Write, Read, Send, WriteImm, SendImm, FetchAdd, CompareSwap };
enum class Transport { Rc, Uc, Ud, Srd, Tcp };
enum class Mode { Bandwidth, Latency };
enum class PollMode { Auto, Spin, Yield, Event, Hybrid };

// Off; Edges: whole rings before and after the measurement; Full: rings for as long as the
// measurement lasts, then the measurement, then another ring.
enum class Verify { Off, Edges, Full };

// Whose data moves: the client's, the server's, or both at the same time (bandwidth only).
enum class Direction { Forward, Reverse, Both };
enum class Side { Client, Server };

inline constexpr uint32_t kMaxSize = 64U << 20U;  // bytes of one message
inline constexpr uint32_t kMaxDepth = 4096;       // messages in flight
inline constexpr uint32_t kMaxQps = 256;          // queue pairs of one point, between two processes
inline constexpr size_t kMaxHosts = 32;           // of one client process
inline constexpr uint32_t kMaxThreads = 64;       // of one side
inline constexpr uint32_t kMaxReads = 255;        // what the attributes of a queue pair can hold
inline constexpr uint32_t kMaxInlineBytes = 4096;  // bytes; no device has as much
inline constexpr uint32_t kMaxSpinUs = 1'000'000;
inline constexpr uint32_t kMaxRate = 100'000'000;         // messages per second, of an open loop
inline constexpr uint64_t kMaxRingBytes = 256U << 20U;    // of all queue pairs, one direction
inline constexpr uint64_t kMaxServerBytes = 2ULL << 30U;  // of a server, for data of all clients
inline constexpr uint64_t kMaxIterations = 1ULL << 40U;
inline constexpr uint32_t kMaxTimeMs = 3600 * 1000;
// The time of a point that ends when it is interrupted; 49 days at most.
inline constexpr uint32_t kForever = UINT32_MAX;
inline constexpr uint32_t kMinIntervalMs = 100;
inline constexpr uint32_t kMaxIntervalMs = 60 * 1000;
inline constexpr size_t kMaxPoints = 1024;       // of one plan
inline constexpr size_t kMaxSizes = 256;         // of one list
inline constexpr size_t kMaxValues = 64;         // of a list of anything else
inline constexpr uint32_t kDefaultTimeMs = 500;  // of a point, where nobody says
inline constexpr uint32_t kMaxReps = 1000;
inline constexpr size_t kMaxRuns = 32768;  // points * reps: a report that `compare` can read

// The operand of an atomic operation, in bytes.
inline constexpr uint32_t kAtomicSize = 8;

// SEND, with immediate or without: the receive's memory takes the data.
constexpr bool is_send(Verb verb) {
    return verb == Verb::Send || verb == Verb::SendImm;
}

constexpr bool is_atomic(Verb verb) {
    return verb == Verb::FetchAdd || verb == Verb::CompareSwap;
}

// The data comes back to the side that posts.
constexpr bool fetches(Verb verb) {
    return verb == Verb::Read || is_atomic(verb);
}

// A message may be lost for good, and nobody is told.
constexpr bool is_reliable(Transport transport) {
    return transport == Transport::Rc || transport == Transport::Srd || transport == Transport::Tcp;
}

// Which message arrives is known by the order: none gets lost or overtakes another.
constexpr bool is_ordered(Transport transport) {
    return transport == Transport::Rc || transport == Transport::Tcp;
}

// Each work request has the address of its peer.
constexpr bool is_datagram(Transport transport) {
    return transport == Transport::Ud || transport == Transport::Srd;
}

// Runs over a device's queue pairs. The other one, plain TCP, is there to compare with.
constexpr bool needs_device(Transport transport) {
    return transport != Transport::Tcp;
}

// What a queue pair of this transport can carry (IBTA 1.7, table 44; ibv_post_send(3)). Of SRD, which
// is EFA's, older adapters carry less. TCP takes bytes from one side and gives them to the other,
// which is SEND.
constexpr bool can_carry(Transport transport, Verb verb) {
    if (transport == Transport::Tcp)
        return verb == Verb::Send;
    if (transport == Transport::Rc)
        return true;
    if (transport == Transport::Srd)
        return !is_atomic(verb);
    return is_send(verb) || (transport == Transport::Uc && !fetches(verb));
}

// How to wait for completions. Hybrid spins for spin_us after the last completion, then sleeps.
struct Poll {
    PollMode mode = PollMode::Auto;
    uint32_t spin_us = 0;

    bool operator==(const Poll&) const = default;
};

inline constexpr uint32_t kDefaultSpinUs = 20;

// Whether a device's writes to memory may pass each other on PCIe (IBV_ACCESS_RELAXED_ORDERING).
// Only asked for: libibverbs drops the wish where the kernel does not know it, and a device may
// ignore it.
enum class Ordering { Relaxed, Strict };

// How packets are marked and which way they take, in both directions. 0 is what a queue pair has by
// itself; by rdma_cm, what that says.
struct Marks {
    uint32_t traffic_class = 0;  // 8 bits: DSCP and ECN of RoCE v2, the GRH's of InfiniBand
    uint32_t service_level = 0;  // 4 bits
    uint32_t flow_label = 0;     // 20 bits; RoCE v2: of IPv6, and the UDP source port follows it
    uint32_t pkey_index = 0;     // 16 bits, of the client's port; the server finds the same key

    bool operator==(const Marks&) const = default;
};

// How queue pairs learn of each other: by values on the control connection, or by rdma_cm (RC only;
// the only way of iWARP).
enum class Connect { Exchange, Cm };

// Bandwidth of other queue pairs, forward, while a latency is measured.
struct Load {
    Verb verb = Verb::Write;
    uint32_t size = 0;

    bool operator==(const Load&) const = default;
};

// Which of several servers a point has: all of them; or it runs with the first, with the first two,
// and so on.
enum class Hosts { All, Ramp };

// The words of the command line, the protocol and the report.
template <>
inline constexpr WordList kWords<Verb>{
    "verb", {"write", "read", "send", "write_imm", "send_imm", "fetch_add", "cmp_swap"}};
template <>
inline constexpr WordList kWords<Transport>{"transport", {"rc", "uc", "ud", "srd", "tcp"}};
template <>
inline constexpr WordList kWords<Mode>{"mode", {"bw", "lat"}};
template <>
inline constexpr WordList kWords<PollMode>{"poll mode",
                                           {"auto", "spin", "yield", "event", "hybrid"}};
template <>
inline constexpr WordList kWords<Verify>{"verify mode", {"off", "edges", "full"}};
template <>
inline constexpr WordList kWords<Direction>{"direction", {"forward", "reverse", "both"}};
template <>
inline constexpr WordList kWords<Connect>{"way to connect", {"exchange", "cm"}};
template <>
inline constexpr WordList kWords<Hosts>{"choice of hosts", {"all", "ramp"}};
template <>
inline constexpr WordList kWords<Ordering>{"ordering", {"relaxed", "strict"}};

struct Plan {
    std::vector<Verb> verbs = {Verb::Write, Verb::Read, Verb::Send};
    std::vector<Mode> modes = {Mode::Bandwidth, Mode::Latency};
    std::vector<uint32_t> sizes = {64, 4096, 65536};  // bytes
    uint64_t iterations = 0;                          // 0: by time
    uint32_t time_ms = 0;                 // for each point; 0: by iterations; or kForever
    uint32_t interval_ms = 0;             // that the client reports while a point runs; 0: none
    std::vector<uint32_t> depths = {0};   // 0: auto
    std::vector<uint32_t> batches = {0};  // 0: auto
    std::vector<uint32_t> qps = {1};
    std::vector<Poll> polls = {Poll{}};
    uint32_t threads = 1;  // at most one for each queue pair is used
    Direction direction = Direction::Forward;
    uint32_t rate = 0;              // messages per second of latency points; 0: closed loop
    std::optional<Load> load = {};  // beside latency points
    uint32_t mtu = 0;               // bytes; 0: auto
    Verify verify = Verify::Edges;
    std::vector<Transport> transports = {Transport::Rc};
    Connect connect = Connect::Exchange;                    // of those that need a device
    std::vector<Ordering> orderings = {Ordering::Relaxed};  // of those that need a device
    Marks marks = {};
    uint32_t reads = 0;                         // in flight; 0: as many as both devices can
    std::optional<uint32_t> inline_bytes = {};  // of larger messages nothing is inline; none: auto
    uint32_t signal = 0;                        // messages for each completion (bw); 0: the batch
    uint32_t ring_bytes = 0;                    // that messages go round in, of a side; 0: auto
    uint64_t seed = 0;
    uint32_t reps = 1;  // how often the whole list of points runs
    Hosts hosts = Hosts::All;
};

struct Point {
    Verb verb = Verb::Write;
    Transport transport = Transport::Rc;
    Connect connect = Connect::Exchange;
    Mode mode = Mode::Bandwidth;
    uint32_t size = 0;     // bytes
    uint32_t qps = 1;      // queue pairs, or TCP connections; each has the depth and the slots
    uint32_t threads = 1;  // that drive them on each side, at most one for each queue pair
    Direction direction = Direction::Forward;
    uint32_t rate = 0;        // latency: messages per second of an open loop; 0: closed loop
    uint32_t depth = 1;       // messages in flight; of a closed latency loop always 1
    uint32_t batch = 1;       // work requests of one post, one completion for all; divides depth
    uint32_t slots = 1;       // messages that have their own place in the ring; at most depth
    uint64_t iterations = 0;  // measured messages of all queue pairs together; 0: by time
    uint32_t time_ms = 0;     // kForever: the client's concern, no server hears of it
    uint32_t mtu = 0;         // the user's wish in bytes; 0: the best of both ports
    Poll poll = {};
    Verify verify = Verify::Edges;
    uint64_t seed = 0;
    Ordering ordering = Ordering::Relaxed;
    Marks marks = {};
    uint32_t reads = 0;                         // in flight; 0: as many as both devices can
    std::optional<uint32_t> inline_bytes = {};  // none: what the lane thinks best
    uint32_t signal = 0;  // messages for each completion; 0: the batch, else a multiple or a part
    uint32_t credit = 0;  // messages for each credit (lane.cc), if there are any; 0: half the depth
    std::optional<Load> load = {};  // of latency; the client's, and no server's concern
};

// Bytes from one message of a ring to the next: a guard band behind each, and before those of
// datagrams the GRH that a device writes (ibv_post_recv(3)). Messages of a page or more begin on a
// page, as an application's would; small ones on a cache line.
inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kCacheLine = 64;
inline constexpr uint64_t kGuard = 64;
inline constexpr uint64_t kGrhSize = 40;

constexpr uint64_t stride_of(const Point& point, uint64_t lead) {
    const uint64_t unit = point.size >= kPage ? kPage : kCacheLine;
    return (point.size + kGuard + lead + unit - 1) / unit * unit;
}

// Messages that one completion stands for.
constexpr uint32_t signal_of(const Point& point) {
    return point.signal != 0 ? point.signal : point.batch;
}

// The points in the order in which they run: the verb changes most slowly, then mode, size, queue
// pairs, depth, batch, poll mode, transport and ordering. A verb has points of those transports
// that can carry it; if there is none, of the first, which check_limits() refuses. Latency has one
// queue pair and no batch whatever the plan says. Atomics have one size, whatever the plan's sizes
// are.
std::vector<Point> expand(const Plan& plan);

// The point of a point's load: until it is stopped, over the same transport in the same way.
Point load_point(const Point& point);

// Code::BadInput naming the member, for values that no point of expand() has.
Result<> check_limits(const Point& point);

// For a plan without a seed, and for secrets that travel. 53 bits: tools that hold numbers of JSON
// as doubles round larger ones, and the plan that they hand on would have other data.
uint64_t random_seed();

bool needs_device(const Plan& plan);

// Where a poll mode is chosen: what the threads that poll have.
struct PollPlace {
    bool software = true;     // a device whose work our own processors do
    uint32_t processors = 1;  // of this process's cpuset
};

// The point's poll mode, and what "auto" is for its transport and threads.
Poll resolve_poll(const Point& point, const PollPlace& place);

// Messages of the warm-up before so many measured ones of a queue pair.
uint64_t warmup_of(const Point& point, uint64_t iterations);

// Measured messages of one queue pair: an equal share, the first ones take what is left over.
constexpr uint64_t iterations_of(const Point& point, uint32_t qp) {
    return point.iterations / point.qps + (qp < point.iterations % point.qps ? 1 : 0);
}

// "hybrid:20us", and the reverse; "hybrid" alone: kDefaultSpinUs.
std::string name_of(const Poll& poll);
Result<Poll> parse_poll(std::string_view word);

// "write:65536", "none", and the reverse.
std::string name_of(const std::optional<Load>& load);
Result<std::optional<Load>> parse_load(std::string_view word);

// "write bw 4096 B": how a point is called in reports and errors.
std::string describe(const Point& point);

// One size: bytes, or with K, M, G (powers of 1024; also KiB, MiB, GiB). 1 to kMaxSize.
Result<uint32_t> parse_size(std::string_view text);

// "4096", "64,4K,64K", "2..8M:*2", "1K..4K:+1K", or a list of these.
Result<std::vector<uint32_t>> parse_sizes(std::string_view text);

// "2s", "500ms", "1.5s", or seconds without a unit. 1 ms to kMaxTimeMs.
Result<uint32_t> parse_time_ms(std::string_view text);

// The values of a list of words between commas; the error of the first that is none.
template <class T>
Result<std::vector<T>> parse_list(std::string_view text, Result<T> (*parse)(std::string_view)) {
    std::vector<T> values;
    for (const auto word : split(text, ','))
        values.push_back(TRY(parse(word)));
    return values;
}

}  // namespace perf
