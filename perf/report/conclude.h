// SPDX-License-Identifier: Apache-2.0
// The end of a command that gathered findings: what is said, what is written, and its exit code.
#pragma once

#include <string>
#include <utility>

#include "perf/measure/surroundings.h"
#include "perf/report/exit_code.h"
#include "perf/report/output.h"

namespace perf {

// An error is printed and kept in the findings; these go where --json says, if it was given.
// Corruption is the worst that there is, then the first error. Needs `corrupt()`, `error` and a
// to_json() of the findings.
template <class Findings>
Exit conclude(Findings& findings,
              base::Result<> done,
              const std::string& json,
              const Surroundings& around) {
    Exit exit = findings.corrupt() ? Exit::Corruption : Exit::Ok;
    const auto fail = [&](const base::Error& error) {
        print(around.err, "rdma-perf: " + error.message() + "\n");
        if (exit == Exit::Ok)
            exit = exit_of(error);
    };
    if (!done) {
        fail(done.error());
        findings.error = std::move(done).error();
    }
    if (!json.empty()) {
        const auto written = write_document(to_json(findings), json, around.out);
        if (!written)
            fail(written.error());
    }
    return exit;
}

}  // namespace perf
