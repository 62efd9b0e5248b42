// SPDX-License-Identifier: Apache-2.0
// doctor: all checks over one scene, and their layout for people and programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perf/report/suite.h"
#include "perf/suites/doctor/check.h"

namespace perf {

// The table of checks, in the order in which they are to be read: what comes first explains what
// comes later.
std::span<const Check> all_checks();

using base::Diagnosis;

std::vector<Diagnosis> examine(const Scene& scene);

// Members of a document of kind "doctor".
Json to_json(const std::vector<Diagnosis>& diagnoses, const std::string& peer);

extern const Suite kDoctor;

Exit doctor(const LookOptions& look, const Surroundings& around);

}  // namespace perf
