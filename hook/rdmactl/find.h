// SPDX-License-Identifier: Apache-2.0
// Finds the state and the containers that a verb of rdmactl is about.
#pragma once

#include <optional>
#include <string>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

Result<Store> open_store(const Options& options, netns::Host& host, Config& config);

// Returns the one container whose id or key begins with `name`; nothing if there is none.
// Code::Usage: there are several.
Result<std::optional<Container>> find_container(const Context& context, const std::string& name);

}  // namespace hook::ctl
