// SPDX-License-Identifier: Apache-2.0
// isolate: checks in one arena, and their layout for people and programs. Each check tries what
// must not work, or looks at what an attacker would see. What they try is aimed at this process and
// at the server that agreed to it, at nobody else. An Error means that a check could not be carried
// out: that ends the tests, and says nothing about isolation.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/engine/link.h"
#include "perf/report/report.h"
#include "perf/report/suite.h"

namespace perf {

// ---- the page that a server exposes (target.cc), as both sides know it --------------------------
// Of the queue pairs of both sides.
inline constexpr int kProbeAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

// The layout of the page: slot 0 of `in`.
inline Layout target_layout() {
    constexpr uint32_t kPageSize = 4096;
    return layout_of({.verb = Verb::Write, .size = kPageSize, .slots = 1}, Side::Server);
}

// The pattern of a round, which the client knows as well.
inline PatternKey target_pattern(uint64_t seed, uint32_t round) {
    return {.seed = seed, .qp = 0, .seq = round};
}

// ---- the client's side --------------------------------------------------------------------------
inline constexpr uint32_t kAimLength = 64;

// A one-sided request that is aimed at the server's page, rightly or not.
struct Aim {
    ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
    uint32_t rkey = 0;
    uint64_t address = 0;
};

// What the checks work with: the connection to a server that agreed, its exposed page, and what
// this container sees of other devices. The server's page always holds the pattern of the last
// control run, which the server is asked about after each attempt.
class Arena {
  public:
    // Code::BadInput if the server does not take part. `root`: before each path that is read.
    static Result<Arena> enter(Client client,
                               const SideOptions& options,
                               const std::string& root = "");

    // ---- the server -----------------------------------------------------------------------------
    [[nodiscard]] const Exposure& exposure() const { return exposure_; }

    // With the right key: writes a new pattern to the whole page, reads it back, and has the server
    // look. An Error if any of it fails: then a refusal would prove nothing.
    Result<> control_run();

    // Carries out a request of kAimLength bytes over a fresh queue pair.
    Result<ibv_wc_status> attempt(const Aim& aim);

    // What of the server's memory is not as the last control run left it.
    Result<std::optional<Mismatch>> damage();

    // True if the last attempt brought anything into this side's memory.
    [[nodiscard]] bool leaked() const;

    // The same queue pair sends any number of datagrams.
    Result<> say(
        Link& speaker, ibv_ah* to, const Listening& there, uint32_t queue_key, uint32_t number);
    Result<std::vector<uint32_t>> hear(uint32_t until);

    // Sends a message, and takes the server's answer of the kind.
    Result<Json> ask(std::string_view type,
                     Json body,
                     std::string_view answer,
                     std::chrono::milliseconds more = {});

    // ---- this side ------------------------------------------------------------------------------
    [[nodiscard]] Verbs& verbs() const { return *device().verbs; }

    [[nodiscard]] const std::string& root() const { return root_; }

    [[nodiscard]] const Device& device() const { return client_.device(); }

    [[nodiscard]] const DeviceInfo& peer() const { return client_.server_device(); }

    // Names of the RDMA devices that the kernel or libibverbs shows, and are not this container's:
    // it does not use them here, rdma-hook does not name them, and no address of this network
    // namespace is in their tables.
    [[nodiscard]] const std::vector<std::string>& foreign_devices() const { return foreign_; }

    // RoCE GIDs that are no address of this network namespace.
    [[nodiscard]] const std::vector<GidRow>& foreign_gids() const { return foreign_gids_; }

  private:
    Arena(Client client, Region region, std::string root)
        : root_(std::move(root)), client_(std::move(client)), region_(std::move(region)) {}

    Result<> look_around(const DeviceWish& wish);
    Result<ibv_wc> carry_out(const Aim& aim, uint32_t length);
    Result<> complete_control(ibv_wr_opcode opcode);

    [[nodiscard]] std::span<std::byte> page() const { return region_.bytes(); }

    [[nodiscard]] Waiting waiting();

    std::string root_;
    std::chrono::milliseconds timeout_{};
    std::vector<std::string> foreign_;
    std::vector<GidRow> foreign_gids_;
    uint64_t seed_ = 0;
    uint32_t round_ = 0;
    uint32_t attempts_ = 0;
    Exposure exposure_;
    // From here on each member needs the ones before it, and goes before them.
    Client client_;
    Region region_;
};

// ---- checks (checks.cc) -------------------------------------------------------------------------
// Finding: to be known, but no barrier that was passed.
enum class IsolationVerdict { Pass, Fail, Finding, NotApplicable };
template <>
inline constexpr WordList kWords<IsolationVerdict>{"verdict",
                                                   {"pass", "fail", "finding", "not-applicable"}};

struct Outcome {
    IsolationVerdict verdict = IsolationVerdict::Pass;
    std::string observed;
    std::string fix = {};  // of what is Fail or Finding
};

struct IsolationCheck {
    std::string_view id;        // an interface: in --json
    std::string_view expected;  // what isolation means here
    Result<Outcome> (*run)(Arena& arena);
};

// The table of checks, in the order in which they run.
extern const std::span<const IsolationCheck> kIsolationChecks;

// How much of a memory key has to be guessed by a peer that knows the one before it.
// Bits, 0 to 32: an upper bound. Over the differences of successive keys (mod 2^32) each bit has an
// entropy of its own, by how often it is 1; the sum of these is never less than the entropy of the
// whole difference. An index in the upper bits over a random byte (rxe) gives 9, the byte and its
// carry. What only looks random is not seen through.
double unknown_bits(std::span<const uint32_t> keys);

// ---- all of them --------------------------------------------------------------------------------
struct Trial {
    const IsolationCheck* check = nullptr;
    Outcome outcome;
};

using Trials = std::vector<Trial>;

// Each check is taken once it is done. An Error: why it went no further.
Result<> try_isolation(Arena& arena, const std::function<void(Trial)>& take);

bool any_violation(const Trials& trials);

std::string to_text(const Trial& trial);
Json to_json(const Trials& trials, const std::string& peer);  // members of the document

// The server's half (target.cc): one page is exposed until the client releases it.
extern const ServedSuite kServedIsolation;

}  // namespace perf
