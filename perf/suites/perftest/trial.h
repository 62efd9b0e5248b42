// SPDX-License-Identifier: Apache-2.0
// Trial: one run of a program of perftest (ib_write_bw and its kin), which both ends start with the
// same settings, and the arguments that each end gets. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/address/address.h"
#include "perf/protocol/plan.h"
#include "perf/verbs/memory.h"

namespace perf::perftest {

inline constexpr uint32_t kMaxSeconds = 60;
inline constexpr uint32_t kMinIterations = 5;  // perftest's own
inline constexpr uint32_t kMaxIterations = 100'000;
inline constexpr uint32_t kMaxInline = 1024;

// What makes it work as a point of ours does. perftest switches off what it thinks a device cannot
// do (on software devices: inline), and says so.
struct Settings {
    uint32_t mtu = 0;           // bytes
    uint32_t depth = 1;         // messages in flight (bw)
    uint32_t batch = 1;         // posted at once, with one completion (bw); divides the depth
    uint32_t inline_bytes = 0;  // 0: none
    uint32_t reads = 1;         // in flight on the wire
    bool immediate = false;     // write lat: told of its data by an immediate, as we are
};

struct Trial {
    Verb verb = Verb::Write;  // write, read or send
    Mode mode = Mode::Bandwidth;
    uint32_t size = 0;                      // bytes
    uint32_t seconds = 0;                   // bw
    uint32_t iterations = 0;                // lat: by time perftest has no percentiles
    std::optional<Settings> settings = {};  // none: its own defaults
};

// One end of it.
struct End {
    Side side = Side::Client;
    std::string device;
    uint8_t device_port = 1;
    std::optional<uint32_t> gid_index;  // none: InfiniBand, addressed by LID
    Address server;                     // of its TCP exchange
    uint16_t port = 0;
    bool can_bind = true;  // this perftest can be told where to listen
};

// Code::BadInput that names the member.
base::Result<> check_limits(const Trial& trial);

// "ib_write_bw".
std::string program_of(Verb verb, Mode mode);

std::vector<std::string> arguments_of(const Trial& trial, const End& end);

// The longest time that it may take once both ends run: its own length, and what perftest waits
// for at its beginning. No message takes a millisecond on anything that is worth measuring.
std::chrono::milliseconds length_of(const Trial& trial);

}  // namespace perf::perftest
