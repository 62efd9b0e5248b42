// SPDX-License-Identifier: Apache-2.0
// What comes out of one point: what it measured, and what it cost.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/engine/crew.h"
#include "perf/engine/stats.h"
#include "perf/measure/statistics.h"
#include "perf/protocol/message.h"
#include "perf/system/counters.h"
#include "perf/system/cpu.h"
#include "perf/verbs/limit.h"

namespace perf {

// ---- what one side's machine and device did during a point, beside the numbers of the point -----
// One side's; empty where nothing could be read, and from a server that does not tell.
struct Usage {
    std::optional<CpuUse> cpu;
    Counters counters;
};

// Processor time (cpu.h) and counters that grew (counters.h). Each side keeps its own; the server's
// travels in its "stopped". The client's window of processor time begins when "started" has arrived
// and lies inside of the server's, which is longer by a round trip; but where the client ends with
// the server (Client::ends_with_server()), it ends after "stopped" has arrived, behind the server's.
class Account {
  public:
    // The time between the two is one in which this side has nothing to do. Once is enough: later
    // calls change nothing.
    void begin_idle();
    void end_idle();

    // A window: the counters, then the processor's time. Counters are read outside of the latter:
    // there are dozens, which takes milliseconds.
    void look(const DeviceInfo& device);

    void begin() { begin_ = sample_cpu(); }

    void begin(const DeviceInfo& device);  // both
    Usage end();

  private:
    std::optional<CpuSample> idle_begin_;
    bool idle_done_ = false;
    std::optional<CpuUse> idle_;
    std::optional<CpuSample> begin_;
    CounterSource source_;
    Counters before_;
};

struct PointUsage {
    Usage client;
    Usage server;
    uint64_t payload_bytes = 0;  // in the window, with the warm-up
};

// Members "cpu" and "counters" of "stopped".
Json to_json(const Usage& usage);
Result<Usage> parse_usage(const Json& frame);

// How many processors were busy on a side's machine; nothing for a window too short to say.
std::optional<double> busy_cores(const Usage& usage);

// What makes a point's numbers doubtful: "retransmit", "loss", "congested", "limit_exceeded".
std::vector<std::string> flags_of(const PointUsage& usage, const std::optional<LimitShare>& share);

// Adds "cpu", "counters" and "flags" to a result of the report.
void describe(Json& result, const PointUsage& usage, const std::optional<LimitShare>& share);

// The end of a line in the table, empty if there is nothing to say:
// "  97.1 % of limit  cpu 1.35/0.77  [retransmit]". The processors are how many were busy on
// each side's machine, client before server; left out of windows too short for it.
std::string remarks(const PointUsage& usage, const std::optional<LimitShare>& share);

// ---- a point -------------------------------------------------------------------------------------
// One stream of data: of one client, in one direction.
struct Part {
    uint32_t client = 0;  // in the order of the hosts on the command line
    Direction direction = Direction::Forward;
    uint64_t messages = 0;
    uint64_t elapsed_ns = 0;
    uint64_t warmup_messages = 0;
    uint64_t lost = 0;  // of both, sent and never received: unreliable transports only
};

inline constexpr uint64_t kSliceMs = 20;

// The rate in slices of the window: a stall that the mean over all of it hides.
struct Slices {
    size_t count = 0;
    double least = 0;  // messages per second, of what the client's side counts
    double p1 = 0;
    double mean = 0;
    double most = 0;
};

// Of the counts at the ends of the slices. Nothing where there are too few of them, or too few
// messages in each: these complete `at_once`.
std::optional<Slices> slices_of(std::span<const Reading> readings, uint64_t at_once);

// All streams of a point together. By time: what completed within one window that all of them
// share. By iterations: from the first post to the last completion of each.
struct Bandwidth {
    uint64_t messages = 0;
    uint64_t elapsed_ns = 0;  // the longest of the streams'
    uint64_t warmup_messages = 0;
    uint64_t lost = 0;
    std::vector<Part> parts = {};  // empty: a single one
    bool one_window = true;        // by time
    std::optional<Slices> slices = {};
};

Bandwidth sum_of(std::vector<Part> parts, bool one_window = true);

// Messages per second of all streams: the sum of their rates in one window. By iterations each has
// a window of its own, and a stream that is done leaves the link to the others: all messages over
// the longest.
double messages_per_second(const Bandwidth& bandwidth);

// What one interval of a point's time brought, while it ran.
struct Interim {
    uint64_t begin_ns = 0;  // since the first one began
    uint64_t end_ns = 0;
    std::optional<Bandwidth> bandwidth = {};  // without loss, which only the end shows
    std::optional<LatencySummary> latency = {};
    std::optional<Bandwidth> load = {};
};

struct PointResult {
    Point point;  // as it was run: nothing is "auto" any more
    uint32_t rep = 1;
    uint32_t clients = 1;  // that ran it together
    uint32_t mtu = 0;
    Poll server_poll;
    Ordering server_ordering = Ordering::Relaxed;  // strict: an older server, too
    Means means;
    Means server_means;
    uint32_t inline_bytes = 0;
    uint32_t reads = 0;  // in flight of each queue pair; 0: nothing is fetched
    Checked checked;     // all clients, both sides and directions together
    std::optional<Bandwidth> bandwidth;
    std::optional<LatencySummary> latency;
    std::optional<Bandwidth> load;             // meanwhile, of the load of the point
    std::vector<Interim> intervals;            // the latest, of very many
    bool complete = true;                      // it was not interrupted
    std::optional<LimitShare> share_of_limit;  // bandwidth, of what link speed and headers leave
    PointUsage usage;  // of the machines; of several clients the devices' counters are summed
};

// ---- metrics ------------------------------------------------------------------------------------
// The numbers of a result that are summarized over repetitions and compared between reports. One
// table for both, so that a metric has one name and one direction everywhere.
struct Metric {
    std::string_view group;  // the member of a result: "bandwidth", "latency" or "cpu"
    std::string_view name;   // the member of the group, with its unit
    Better better;
    // Between reports. Rate says the same as bandwidth between points of one size; cost says as much
    // of how threads wait as of the payload.
    bool compared;
    std::optional<double> (*value)(const PointResult& result);
    std::string (*text)(double value);  // human_value() is for numbers of foreign files, too
};

std::span<const Metric> all_metrics();

// What a result has of each kind; nothing if its point measures the other. Messages/s, bytes/s, ns.
inline std::optional<double> rate_of(const PointResult& result) {
    if (!result.bandwidth)
        return std::nullopt;
    return messages_per_second(*result.bandwidth);
}

inline std::optional<double> bandwidth_of(const PointResult& result) {
    const auto rate = rate_of(result);
    return rate ? std::optional(*rate * result.point.size) : std::nullopt;
}

template <auto kMember>  // of LatencySummary
std::optional<double> latency_of(const PointResult& result) {
    if (!result.latency)
        return std::nullopt;
    return static_cast<double>((*result.latency).*kMember);
}

// "98.12 Gb/s", "0.00505 Mpps" (millions of messages a second), "4.20 us".
std::string human_bandwidth(double bytes_per_s);
std::string human_rate(double messages_per_s);
std::string human_time(double ns);
std::string human_value(const Metric& metric, double value);

}  // namespace perf
