// SPDX-License-Identifier: Apache-2.0
// All suites. A new one is a folder of perf/suites and a line of suites.cc.
#pragma once

#include <span>

#include "perf/report/suite.h"

namespace perf {

std::span<const Suite* const> all_suites();

// Those that a server takes part in.
std::span<const ServedSuite* const> served_suites();

}  // namespace perf
