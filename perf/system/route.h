// SPDX-License-Identifier: Apache-2.0
// Where this network namespace would send from, for those who have no connection to ask.
#pragma once

#include <string>
#include <vector>

#include "netns/base/result.h"
#include "perf/address/address.h"

namespace perf {

// The source addresses towards each address of a host, best first, each once. Nothing is sent but
// what name resolution sends. Code::Unavailable if the name means nothing or no route leads there.
base::Result<std::vector<Address>> sources_towards(const std::string& host);

}  // namespace perf
