// SPDX-License-Identifier: Apache-2.0
// Where results go: text to a stream, a JSON document to a file or to standard output.
#pragma once

#include <cstdio>
#include <string>

#include "netns/base/json.h"

namespace perf {

// Flushed at once. Nobody reads: nothing to be done about it.
void print(std::FILE* to, const std::string& text);

// `where`: a file's path, or "-" for `out`.
base::Result<> write_document(const base::Json& document, const std::string& where, std::FILE* out);

}  // namespace perf
