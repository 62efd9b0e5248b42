// SPDX-License-Identifier: Apache-2.0
// Client: the side that owns the plan. start() agrees with the server on versions and devices;
// run() takes one point from open to close: verify, measure, and the numbers.
#pragma once

#include <optional>

#include "perf/session.h"
#include "perf/workloads/bandwidth.h"
#include "perf/workloads/latency.h"

namespace perf {

// What came out of one point.
struct PointResult {
    Point point;  // as it was run: nothing is "auto" any more
    uint32_t rep = 1;
    uint32_t mtu = 0;
    PollMode server_poll = PollMode::Yield;
    uint32_t inline_bytes = 0;
    Checked checked;  // both sides and directions together
    std::optional<Bandwidth> bandwidth;
    std::optional<LatencySummary> latency;
    std::optional<double> percent_of_limit;  // bandwidth, of what link speed and headers leave
    PointUsage usage;
};

class Client {
  public:
    static base::Result<Client> start(Verbs& verbs, Control control, const SideOptions& options);

    // Watches for 100 ms what this machine does without us, once, before the first point: the
    // server does the same meanwhile. Ends at once on a Stop and when the server goes.
    base::Result<> watch_idle();

    // A point whose data is wrong is not measured, and no error. After an error the client cannot
    // be used any more.
    base::Result<PointResult> run(const Point& point);

    [[nodiscard]] const Hello& server() const { return server_; }

    [[nodiscard]] const DeviceInfo& server_device() const { return peer_; }

    [[nodiscard]] const Device& device() const { return device_; }

  private:
    Client(Control control, std::chrono::milliseconds timeout)
        : control_(std::move(control)), timeout_(timeout) {}

    base::Result<Lane> open(const Point& point, PointResult& result);
    base::Result<> verify(Lane& lane, Checked& total);
    base::Result<Checked> verify_round(Lane& lane, uint64_t number);
    base::Result<> measure(Lane& lane, PointResult& result);
    base::Result<> measure_mode(Lane& lane, PointResult& result, uint64_t& messages);
    // How many of the messages were lost.
    base::Result<uint64_t> finish(const Lane& lane, uint64_t messages, PointResult& result);
    [[nodiscard]] std::optional<double> share_of_limit(const Bandwidth& bandwidth,
                                                       const Point& point,
                                                       uint32_t mtu) const;

    [[nodiscard]] base::Deadline step() const { return base::Deadline::in(timeout_); }

    [[nodiscard]] Waiting waiting(const Lane& lane);

    Control control_;
    std::chrono::milliseconds timeout_;
    Hello server_;
    DeviceInfo peer_;
    Device device_;
    Account account_;
};

}  // namespace perf
