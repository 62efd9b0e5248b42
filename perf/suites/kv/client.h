// SPDX-License-Identifier: Apache-2.0
// The client's side of the key-value exercise: GETs, one at a time, by either method over the same
// table, queue pair and keys; every value that comes back is checked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perf/measure/client.h"
#include "perf/suites/kv/command.h"
#include "perf/suites/kv/message.h"

namespace perf::kv {

// A value that is not as it should be.
struct Wrong {
    uint32_t key = 0;
    uint32_t version = 0;
    std::string what;
};

// What one thread did.
struct Gets {
    uint64_t gets = 0;   // measured
    uint64_t reads = 0;  // for these; 0 by SEND
    uint64_t all = 0;    // with the warm-up
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    Histogram latencies;  // from before the first post to the slot's arrival
    std::optional<Wrong> wrong;
};

struct Trial {
    Method method = Method::Send;
    uint32_t rep = 1;
    uint64_t gets = 0;
    uint64_t reads = 0;
    uint64_t elapsed_ns = 0;
    LatencySummary latency;
    PointUsage usage;
    std::optional<Wrong> wrong;  // then nothing of the above counts
};

// What both sides agreed on.
struct Agreed {
    uint32_t mtu = 0;
    Poll poll;
    Poll server_poll;
};

class Exercise {
  public:
    // Code::Unsupported if the server has no such exercise. The client must live longer, and can
    // not be used for anything else before close().
    static Result<std::unique_ptr<Exercise>> open(perf::Client& client,
                                                  const Plan& plan,
                                                  std::chrono::milliseconds timeout);

    // `version` must differ from that of the trial before. Ends at the first wrong value, which is
    // no error.
    Result<Trial> run(Method method, uint32_t rep, uint32_t version);

    Result<> close();

    [[nodiscard]] const Agreed& agreed() const { return agreed_; }

  private:
    Exercise(
        perf::Client& client, const Plan& plan, const Waiting& waiting, Region buffer, Link link)
        : client_(client),
          plan_(plan),
          waiting_(waiting),
          buffer_(std::move(buffer)),
          link_(std::move(link)) {}

    Result<> connect();
    Result<Gets> get_all(const Start& start);
    Ending get(Crew::Hand& hand, const Start& start, Gets& gets);

    [[nodiscard]] Deadline step() const { return Deadline::in(waiting_.patience); }

    perf::Client& client_;
    Plan plan_;
    Waiting waiting_;
    std::vector<uint32_t> keys_;  // in the order in which both methods ask for them
    Endpoint table_;
    Agreed agreed_;
    Region buffer_;
    Link link_;
};

}  // namespace perf::kv
