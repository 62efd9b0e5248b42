// SPDX-License-Identifier: Apache-2.0
// CSV by RFC 4180: a header line, one line for each result, lines end with CR LF. What a result
// does not have is an empty field.
#pragma once

#include <string>
#include <string_view>

#include "perf/measure/result.h"

namespace perf {

std::string csv_header();
std::string csv_row(const PointResult& result);

// Quoted if it holds what separates fields or lines.
std::string csv_field(std::string_view text);

}  // namespace perf
