// SPDX-License-Identifier: Apache-2.0
// A session: the server's side of one control connection, from hello to the client's close.
#pragma once

#include <span>
#include <string>

#include "perf/command/suites.h"

namespace perf {

// What a session did so far.
struct Served {
    uint64_t points = 0;
    // Once the client said what it wants to reach: the table of GID candidates, and the note for
    // the user.
    std::string explanation = {};
    std::string note = {};
};

// Serves until the client closes. An error has been told to the client where that was possible.
Result<> serve_session(Verbs& verbs,
                       Control control,
                       const SideOptions& options,
                       Served& served,
                       std::span<const ServedSuite* const> suites = served_suites());

}  // namespace perf
