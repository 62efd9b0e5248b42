// SPDX-License-Identifier: Apache-2.0
// isolate: checks in one arena, and their layout for people and programs. Each check tries what
// must not work, or looks at what an attacker would see. isolation_checks() names them all. What
// they try is aimed at this process and at the server that agreed to it, at nobody else.
//
// An Error of a check means that it could not be carried out (its control run failed, the server is
// gone): that ends the tests, and says nothing about isolation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/report/suite.h"
#include "perf/suites/isolate/arena.h"

namespace perf {

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

// Devices and GIDs of others (device_checks.cc).
Result<Outcome> check_foreign_devices(Arena& arena);
Result<Outcome> check_foreign_gids(Arena& arena);
Result<Outcome> check_foreign_source(Arena& arena);
Result<Outcome> check_raw_packets(Arena& arena);

// Own memory and its keys (local_checks.cc).
Result<Outcome> check_memory_limit(Arena& arena);
Result<Outcome> check_key_guessing(Arena& arena);

// How much of a memory key has to be guessed by a peer that knows the one before it.
// Bits, 0 to 32: an upper bound. Over the differences of successive keys (mod 2^32) each bit has an
// entropy of its own, by how often it is 1; the sum of these is never less than the entropy of the
// whole difference. Keys that are counted up give 0, random ones nearly 32; an index in the upper
// bits over a random byte (rxe) gives 9, the byte and its carry. What only looks random, such as a
// generator whose state can be computed, is not seen through.
double unknown_bits(std::span<const uint32_t> keys);

// The server's memory, and datagrams to it (remote_checks.cc).
Result<Outcome> check_queue_key(Arena& arena);
std::span<const IsolationCheck> remote_checks();

// ---- all of them --------------------------------------------------------------------------------
// The table of checks, in the order in which they run: first what only looks at this side.
std::span<const IsolationCheck> isolation_checks();

struct Trial {
    const IsolationCheck* check = nullptr;
    Outcome outcome;
};

// As far as they could be carried out.
struct Trials {
    std::vector<Trial> done;
    std::optional<Error> error;  // why not further
};

Trials try_isolation(Arena& arena);

bool any_violation(const Trials& trials);

std::string to_text(const Trials& trials);
Json to_json(const Trials& trials, const std::string& peer);  // members of the document

// Negative tests between this side and a server that agreed to them. The server's half is in
// target.cc: one page is exposed until the client releases it.
extern const Suite kIsolate;
extern const ServedSuite kServedIsolation;

Exit isolate(const LookOptions& look, const Surroundings& around);

}  // namespace perf
