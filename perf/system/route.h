// SPDX-License-Identifier: Apache-2.0
// Where this network namespace would send from, for those who have no connection to ask.
#pragma once

#include <string>
#include <vector>

#include "perf/address/address.h"
#include "perf/base/names.h"

namespace perf {

// The source addresses towards each address of a host, best first, each once. Nothing is sent but
// what name resolution sends. Code::Unavailable if the name means nothing or no route leads there.
Result<std::vector<Address>> sources_towards(const std::string& host);

}  // namespace perf
