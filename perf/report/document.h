// SPDX-License-Identifier: Apache-2.0
// Document: what --json of every command writes, and the end that all commands have. One schema
// (perf/schema/report.schema.json) has a definition for each `kind`. JSON names carry their units;
// within a schema's number nothing changes its meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perf/base/names.h"
#include "perf/measure/surroundings.h"
#include "perf/report/exit_code.h"

namespace perf {

inline constexpr std::string_view kSchema = "rdma-perf/1";

struct Document {
    std::string_view kind;                      // "run", "kv", ...
    std::string started = base::rfc3339_now();  // ISO 8601, UTC
    Json members = Json::object();              // of its kind
};

// What every document begins with.
Json head_of(std::string_view kind, const std::string& started);

// "errors" of every document: what ended it early, or nothing.
Json errors_json(const std::optional<Error>& error);

Json to_json(const Document& document, const std::optional<Error>& error);

// Says why something failed. Returns `exit`, or what the error makes of Exit::Ok.
Exit complain(const Error& error, Exit exit, const Surroundings& around);

// Ends a command: reports an error, and writes the document, which has the error, to `json` (a file;
// "-" for standard output; empty: nowhere). Returns as complain() does.
Exit conclude(const Document& document,
              const Result<>& done,
              Exit exit,
              const std::string& json,
              const Surroundings& around);

}  // namespace perf
