// SPDX-License-Identifier: Apache-2.0
// Files that people name on the command line, and small ones of /proc.
#pragma once

#include <string>

#include "perf/base/names.h"

namespace perf {

// All of a regular file (a pipe that nobody writes to would hang), up to `limit` bytes; `what`
// names it in errors.
Result<std::string> read_file(const std::string& path, size_t limit, const std::string& what);

}  // namespace perf
