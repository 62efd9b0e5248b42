// SPDX-License-Identifier: Apache-2.0
// The report as a page of Markdown: what a person pastes into an issue or a wiki.
#pragma once

#include <string>

#include "perf/report/report.h"

namespace perf {

std::string to_markdown(const Report& report);

}  // namespace perf
