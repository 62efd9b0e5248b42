// SPDX-License-Identifier: Apache-2.0
// What programs of perftest print, read as the foreign text that it is: bounded, and refused unless
// it is exactly what is known. Known are 25.01 and what it has in common with older ones. Pure.
#pragma once

#include <string>
#include <string_view>

#include "perf/suites/perftest/trial.h"

namespace perf::perftest {

inline constexpr size_t kMaxOutput = 64 * 1024;

// The result that the client printed: bytes per second, or nanoseconds (median). Code::Unsupported
// if there is none, several, one of another size, or columns that are not known.
base::Result<double> parse_result(std::string_view text, const Trial& trial);

// "6.24" of "Version: 6.24", which is the version of its protocol; Code::Unsupported if there
// is none.
base::Result<std::string> parse_version(std::string_view text);

// The last line with something on it, made safe to print.
std::string last_line(std::string_view text);

}  // namespace perf::perftest
