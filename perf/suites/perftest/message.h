// SPDX-License-Identifier: Apache-2.0
// The messages with which a client has the server run perftest, as message.h has those of points. A
// server that was told to allow it announces the capability; any other refuses.
//
//   perftest_probe -> perftest_probed    which perftest the server has
//   perftest_start -> perftest_started   {verb, mode, size_bytes, ...}: the server starts that
//                                        program on its own device and GID and answers when that
//                                        listens: {port}, one of kFirstPort to kLastPort
//   perftest_end   -> perftest_ended     {status, last_line}: how it ended; it is killed if it did
//                                        not within the server's deadline of a step
#pragma once

#include <string>

#include "netns/base/json.h"
#include "perf/suites/perftest/trial.h"

namespace perf::perftest {

inline constexpr std::string_view kCapability = "perftest";

// Where programs of perftest listen.
inline constexpr uint16_t kFirstPort = 18700;
inline constexpr uint16_t kLastPort = 18763;

// Which perftest a side has.
struct Version {
    std::string version;     // of its protocol, "6.24"
    bool immediate = false;  // ib_write_lat can write with immediates
};

struct Ended {
    int status = 0;         // as a shell would say
    std::string last_line;  // that it printed on standard error, or else on standard output
};

base::Json to_json(const Version& version);
base::Json to_json(const Settings& settings);
base::Json to_json(const Trial& trial);
base::Json to_json(const Ended& ended);

base::Result<Version> parse_probed(const base::Json& frame);
base::Result<Trial> parse_trial(const base::Json& frame);  // within check_limits
base::Result<uint16_t> parse_started(const base::Json& frame);
base::Result<Ended> parse_ended(const base::Json& frame);

}  // namespace perf::perftest
