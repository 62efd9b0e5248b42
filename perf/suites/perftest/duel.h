// SPDX-License-Identifier: Apache-2.0
// Duel: points of ours and runs of perftest between the same two devices, in turn. A pair is one of
// each; who is first changes from pair to pair. Pairs are added until the interval of their ratio
// is narrow, or there are enough of them.
#pragma once

#include <string>
#include <vector>

#include "perf/measure/client.h"
#include "perf/measure/metrics.h"
#include "perf/measure/paired_ratio.h"
#include "perf/suites/perftest/message.h"
#include "perf/suites/perftest/plan.h"
#include "perf/suites/perftest/program.h"

namespace perf::perftest {

// The points of ours, in order: the verb changes most slowly, then mode, then size.
std::vector<Point> points_of(const Plan& plan);

// The opponent of a point, without settings.
Trial trial_of(const Point& point);

// One point and its opponent.
struct Cell {
    Point point;
    Trial trial;
    Poll poll = {};                   // of our side's client
    std::vector<RunPair> pairs = {};  // a: perftest, b: rdma-perf; bytes/s or ns
    RatioEstimate ratio = {};
    Verdict verdict = Verdict::NotEnoughData;
    bool wrong = false;  // our data did not arrive as it was sent: nothing was measured
    // Runs of perftest that failed and were made again. By time (bw) its two ends stop by a clock
    // each, and the slower one may find the other gone.
    uint32_t failures = 0;
    std::string failure = {};  // the last one's
};

// What a cell measures: bandwidth, or the median of the latency.
const Metric& metric_of(const Cell& cell);

class Duel {
  public:
    // Both sides must have perftest, and the server must allow its use: Code::Unsupported,
    // Code::BadInput. The client must live longer.
    static base::Result<Duel> enter(Client& client,
                                    const Plan& plan,
                                    const Folders& folders,
                                    std::chrono::milliseconds timeout);

    base::Result<Cell> run(const Point& point);

    [[nodiscard]] const Version& own() const { return own_; }

    [[nodiscard]] const Version& server() const { return server_; }

  private:
    Duel(Client& client, const Plan& plan, Folders folders, std::chrono::milliseconds timeout)
        : client_(&client), plan_(plan), folders_(std::move(folders)), timeout_(timeout) {}

    [[nodiscard]] Trial trial_for(const PointResult& verified) const;

    // Both ends of one run of perftest have ended.
    struct Bout {
        Program::Outcome here;
        Ended there;
    };

    base::Result<RunPair> run_pair(Cell& cell);
    base::Result<double> ours(const Cell& cell);
    base::Result<double> theirs(Cell& cell);
    base::Result<Bout> fight(const Trial& trial);
    base::Result<Program::Outcome> run_program(const Trial& trial, uint16_t port);

    Client* client_;
    Plan plan_;
    Folders folders_;
    std::chrono::milliseconds timeout_;
    Version own_;
    Version server_;
};

}  // namespace perf::perftest
