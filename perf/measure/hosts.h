// SPDX-License-Identifier: Apache-2.0
// Hosts: the servers of a command line, each with a client.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perf/measure/client.h"
#include "perf/measure/surroundings.h"

namespace perf {

// A client for each host, in order: versions are agreed on, and devices unless no point needs one.
Result<std::vector<Client>> connect_clients(std::span<const std::string> hosts,
                                            uint16_t port,
                                            const SideOptions& side,
                                            const Surroundings& around,
                                            bool with_device = true);

// The same over connections that are there already.
Result<std::vector<Client>> start_clients(std::vector<Control> controls,
                                          const SideOptions& side,
                                          const Surroundings& around,
                                          bool with_device = true);

}  // namespace perf
