// SPDX-License-Identifier: Apache-2.0
// Plan and Point: what is measured. A Plan is what the person asked for (a matrix); expand() makes
// the Points, each one test with nothing left open. A Point also travels to the server, which
// checks it against the limits here before it believes any value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/result.h"

namespace perf {

enum class Verb { Write, Read, Send, WriteImm, SendImm, FetchAdd, CompareSwap };
enum class Transport { Rc, Uc, Ud };
enum class Mode { Bandwidth, Latency };
enum class PollMode { Auto, Spin, Yield, Event };
enum class Verify { Off, Full };

inline constexpr uint32_t kMaxSize = 64U << 20U;  // bytes of one message
inline constexpr uint32_t kMaxDepth = 4096;       // messages in flight
inline constexpr uint64_t kMaxIterations = 1ULL << 40U;
inline constexpr uint32_t kMaxTimeMs = 3600 * 1000;
inline constexpr size_t kMaxPoints = 1024;  // of one plan
inline constexpr size_t kMaxSizes = 256;    // of one list
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
    return transport == Transport::Rc;
}

// What a queue pair of this transport can carry (IBTA 1.7, table 44; ibv_post_send(3)).
constexpr bool can_carry(Transport transport, Verb verb) {
    if (transport == Transport::Rc)
        return true;
    return is_send(verb) || (transport == Transport::Uc && !fetches(verb));
}

struct Plan {
    std::vector<Verb> verbs;
    std::vector<Mode> modes;
    std::vector<uint32_t> sizes;  // bytes
    uint64_t iterations = 0;      // 0: by time
    uint32_t time_ms = 0;         // for each point; 0: by iterations
    uint32_t depth = 0;           // 0: auto
    uint32_t mtu = 0;             // bytes; 0: auto
    PollMode poll = PollMode::Auto;
    Verify verify = Verify::Full;
    Transport transport = Transport::Rc;
    uint64_t seed = 0;
    uint32_t reps = 1;  // how often the whole list of points runs
};

struct Point {
    Verb verb = Verb::Write;
    Transport transport = Transport::Rc;
    Mode mode = Mode::Bandwidth;
    uint32_t size = 0;        // bytes
    uint32_t depth = 1;       // messages in flight; latency is always 1
    uint32_t batch = 1;       // work requests of one post, one completion for all; divides depth
    uint32_t slots = 1;       // messages that have their own place in the ring; at most depth
    uint64_t iterations = 0;  // measured messages; 0: by time
    uint32_t time_ms = 0;
    uint32_t mtu = 0;  // the user's wish in bytes; 0: the best of both ports
    PollMode poll = PollMode::Auto;
    Verify verify = Verify::Full;
    uint64_t seed = 0;
};

// The points in the order in which they run: verb by verb, mode by mode, small to large as given.
// Atomics have one size, whatever the plan's sizes are.
std::vector<Point> expand(const Plan& plan);

// Code::BadInput naming the member, for values that no point of expand() has.
base::Result<> check_limits(const Point& point);

// "write", "bw", "auto", "full": the words of the command line, the protocol and the report.
std::string_view name_of(Verb verb);
std::string_view name_of(Mode mode);
std::string_view name_of(PollMode poll);
std::string_view name_of(Verify verify);
std::string_view name_of(Transport transport);

// The reverse; Code::BadInput that lists what is allowed.
base::Result<Verb> parse_verb(std::string_view word);
base::Result<Mode> parse_mode(std::string_view word);
base::Result<PollMode> parse_poll(std::string_view word);
base::Result<Verify> parse_verify(std::string_view word);
base::Result<Transport> parse_transport(std::string_view word);

// "write bw 4096 B": how a point is called in reports and errors.
std::string describe(const Point& point);

// One size: bytes, or with K, M, G (powers of 1024; also KiB, MiB, GiB). 1 to kMaxSize.
base::Result<uint32_t> parse_size(std::string_view text);

// "4096", "64,4K,64K", "2..8M:*2", "1K..4K:+1K", or a list of these.
base::Result<std::vector<uint32_t>> parse_sizes(std::string_view text);

// "2s", "500ms", "1.5s", or seconds without a unit. 1 ms to kMaxTimeMs.
base::Result<uint32_t> parse_time_ms(std::string_view text);

// The parts of a text between `separator`s; an empty text has one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace perf
