// SPDX-License-Identifier: Apache-2.0
// kv: the key-value exercise: its command, its messages, the client's side, and its report.
// GETs are done one at a time, by either method over the same table, queue pair and keys; every
// value that comes back is checked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perf/engine/link.h"
#include "perf/engine/ring.h"
#include "perf/report/report.h"
#include "perf/report/suite.h"
#include "perf/suites/kv/table.h"
#include "perf/verbs/limit.h"

namespace perf {
namespace kv {

// How a GET is done: asked of the server's thread, or read from its memory.
enum class Method { Send, Read };

struct Plan {
    Shape shape = {.keys = 10'000};
    double skew = 0.99;    // table.h
    uint32_t time_ms = 0;  // of each trial, without its warm-up
    uint32_t reps = 6;     // of each method; the least with intervals
    Poll poll;
};

// Declares the options (command.cc). What it returns reads them, once the command line is parsed:
// Code::Usage or Code::BadInput that names option, value and what is allowed.
std::function<Result<Plan>()> declare_plan(CLI::App& app);

// ---- messages (server.cc; docs/rdma-perf/protocol.md) -------------------------------------------
// As message.h has those of points. A GET of method "send" is a message of 8 bytes, the key; the
// answer is its slot (table.h).

// Of the answer to kv_open, or kv_open itself: the one endpoint.
Result<Endpoint> the_endpoint(std::vector<Endpoint> endpoints);

extern const ServedSuite kServedExercise;

// ---- how both sides use their queue pair --------------------------------------------------------
inline constexpr uint32_t kReceives = 4;  // that may be posted

// `message`: bytes of what this side sends. `access`: what the other side may do.
inline LinkOptions link_options(const Device& device, size_t message, int access) {
    const uint32_t most =
        inline_limit(device.attr.vendor_id, {.verb = Verb::Send, .mode = Mode::Latency});
    return {.sends = 4 * kSignalEvery,
            .receives = kReceives,
            .inline_bytes = message <= most ? static_cast<uint32_t>(message) : 0,
            .access = access};
}

// `before`: messages of the trial before it. Its completions, now and then, have id 0.
inline int send_message(Link& link, ibv_sge from, uint64_t before) noexcept {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.send_flags = before % kSignalEvery == 0 ? IBV_SEND_SIGNALED : 0;
    return link.send(request, from);
}

// ---- the client's side (client.cc) --------------------------------------------------------------
struct Wrong {
    uint32_t key = 0;
    uint32_t version = 0;
    std::string what;
};

struct Trial {
    Method method = Method::Send;
    uint32_t rep = 1;
    uint64_t gets = 0;   // measured
    uint64_t reads = 0;  // for these; 0 by SEND
    uint64_t all = 0;    // with the warm-up
    uint64_t elapsed_ns = 0;
    LatencySummary latency;  // from before the request's post to the slot's arrival
    PointUsage usage;
    std::optional<Wrong> wrong;  // then nothing of the above counts
};

class Exercise {
  public:
    // Code::Unsupported if the server has no such exercise. The client must live longer, and can
    // not be used for anything else before close().
    static Result<std::unique_ptr<Exercise>> open(perf::Client& client,
                                                  const Plan& plan,
                                                  std::chrono::milliseconds timeout);

    // `version`, 1 to kMaxVersion, must differ from that of the trial before. Ends at the first
    // wrong value, which is no error.
    Result<Trial> run(Method method, uint32_t rep, uint32_t version);

    Result<> close();

    // What both sides agreed on: members of "env".
    [[nodiscard]] const Json& agreed() const { return agreed_; }

  private:
    template <class C>
    class Getter;

    Exercise(
        perf::Client& client, const Plan& plan, const Waiting& waiting, Region buffer, Link link)
        : client_(client),
          plan_(plan),
          waiting_(waiting),
          buffer_(std::move(buffer)),
          link_(std::move(link)) {}

    Result<> connect();
    Result<> get_all(uint32_t version, Trial& trial);

    [[nodiscard]] Deadline step() const { return Deadline::in(waiting_.patience); }

    perf::Client& client_;
    Plan plan_;
    Waiting waiting_;
    std::vector<uint32_t> keys_;  // in the order in which both methods ask for them
    Endpoint table_;
    Json agreed_;
    Histogram latencies_;  // of the running trial
    Region buffer_;        // has a slot, and behind it the request
    Link link_;
};

// ---- report (command.cc) ------------------------------------------------------------------------
struct Findings {
    Plan plan;
    std::optional<Pairing> pair = {};  // once a server was reached
    Json agreed = {{"mtu_bytes", 0}, {"poll", "auto"}, {"server_poll", "auto"}};
    std::vector<Trial> trials = {};  // a wrong one is the last
};

std::string trial_line(const Trial& trial);

// A table of both methods over all repetitions, with the ratio of READ to SEND in GETs per second.
std::string table_of(const Findings& findings);

Json to_json(const Findings& findings);

Result<> run_exercise(const LookOptions& look, const Plan& plan, Document& document);
}  // namespace kv

template <>
inline constexpr WordList kWords<kv::Method>{"method", {"send", "read"}};

}  // namespace perf
