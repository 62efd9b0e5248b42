// SPDX-License-Identifier: Apache-2.0
// Document: what --json of every command writes, where results go, and the end that all commands
// have. One schema (perf/schema/report.schema.json) has a definition for each `kind`. JSON names
// carry their units; within a schema's number nothing changes its meaning.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "netns/base/json.h"
#include "perf/measure/options.h"

namespace perf {

// Exit codes are an interface: scripts decide by them. docs/reference/exit-codes.md has the same
// table.
enum class Exit : int {
    Ok = 0,
    Internal = 1,      // a bug, or a failure that nothing here explains
    Usage = 2,         // command line or plan
    Corruption = 3,    // data did not arrive as it was sent
    Threshold = 4,     // what --expect demands is not so
    Peer = 5,          // cannot connect, or the peer was lost
    Environment = 6,   // device, GID, permission, memory limit
    Isolation = 7,     // isolate: something worked that must not
    Version = 8,       // the peer speaks another protocol, or lacks a capability
    Deadline = 124,    // as timeout(1)
    Interrupted = 130  // SIGINT or SIGTERM
};

Exit exit_of(const Error& error);

// ---- where results go ---------------------------------------------------------------------------
// Flushed at once. Nobody reads: nothing to be done about it.
void print(std::FILE* to, const std::string& text);

// One place that text goes to: a file, standard output, or nowhere.
class Sink {
  public:
    Sink() = default;

    // `where` is a file, made or emptied at once; "-" for `out`; or empty.
    static Result<Sink> open(const std::string& where, std::FILE* out);

    // All of it has left this process when it returns.
    Result<> write(std::string_view text) const;

  private:
    std::string where_;
    UniqueFd fd_;
    std::FILE* out_ = nullptr;
};

// ---- documents ----------------------------------------------------------------------------------
inline constexpr std::string_view kSchema = "rdma-perf/1";
inline constexpr size_t kReportLimit = 64U << 20U;  // bytes

// Of a file that a person names: an error is Code::Usage, and names it.
template <class T>
Result<T> about_file(Result<T> read, const std::string& name, const char* advice) {
    return read ? std::move(read)
                : std::move(read).error().in(printable(name)).as(Code::Usage, advice);
}

// What a command answers: a text for people, and a document.
struct Document {
    std::string_view kind;  // "run", "kv", ...
    std::string json;       // where it goes: a file; "-" for standard output; empty: nowhere
    const Surroundings& around;
    std::FILE* text = json == "-" ? around.err : around.out;  // where data does not go
    std::string started = base::rfc3339_now();                // ISO 8601, UTC
    Json members = Json::object();                            // of its kind
    Exit exit = Exit::Ok;

    // For people: the sides first (report.h), then each result once it is there.
    void say(const std::string& line) const { print(text, line); }

    // What every document begins with.
    [[nodiscard]] Json head() const;

    // Ends the command: reports an error, and writes the document, which has the error. Returns as
    // complain() does.
    [[nodiscard]] Exit conclude(const Result<>& done) const;
};

// "errors" of every document: what ended it early, or nothing.
Json errors_json(const Result<>& done);

// Says why something failed. Returns `exit`, or what the error makes of Exit::Ok.
Exit complain(const Error& error, Exit exit, const Surroundings& around);

}  // namespace perf
