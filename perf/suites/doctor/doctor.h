// SPDX-License-Identifier: Apache-2.0
// doctor: all checks over one scene, and their layout for people and programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perf/base/names.h"
#include "perf/measure/side_options.h"
#include "perf/measure/surroundings.h"
#include "perf/protocol/plan.h"
#include "perf/report/exit_code.h"
#include "perf/suites/doctor/check.h"

namespace perf {

// The table of checks, in the order in which they are to be read: what comes first explains what
// comes later.
std::span<const Check> all_checks();

using base::Diagnosis;

std::vector<Diagnosis> examine(const Scene& scene);

// Members of a document of kind "doctor".
Json to_json(const std::vector<Diagnosis>& diagnoses, const std::string& peer);

struct DoctorOptions {
    LookOptions look;
    Plan usual = {};  // of a run without options, whose memory must be lockable
};

Exit doctor(const DoctorOptions& options, const Surroundings& around);

}  // namespace perf
