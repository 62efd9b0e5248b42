// SPDX-License-Identifier: Apache-2.0
// What is said of the key-value exercise: a line for each trial, a table of both methods over all
// repetitions with their ratio, and the members of a document of kind "kv".
#pragma once

#include <string>
#include <vector>

#include "perf/measure/statistics.h"
#include "perf/suites/kv/client.h"

namespace perf::kv {

struct Findings {
    Plan plan;
    // Once a server was reached.
    std::optional<Hello> server;
    DeviceInfo client_device;
    DeviceInfo server_device;
    Agreed agreed;
    std::vector<Trial> trials;

    [[nodiscard]] bool corrupt() const;
};

double gets_per_second(const Trial& trial);

std::string trial_line(const Trial& trial);

// GETs per second by READ over those by SEND, of the repetitions that both have.
RatioEstimate read_over_send(const Findings& findings);

std::string table_of(const Findings& findings);

Json to_json(const Findings& findings);

}  // namespace perf::kv
