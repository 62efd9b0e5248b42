// SPDX-License-Identifier: Apache-2.0
// The suites that a server takes part in. A new one is a folder of perf/suites and a line of
// served_suites.cc.
#pragma once

#include <span>

#include "perf/measure/server_half.h"

namespace perf {

std::span<const ServedSuite* const> served_suites();

}  // namespace perf
