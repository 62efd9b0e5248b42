// SPDX-License-Identifier: Apache-2.0
// The environment variables by which programs of a container find its RDMA. hook/README.md has the
// list for people.
#pragma once

#include <string>
#include <vector>

#include "hook/container/inspect.h"

namespace hook {

struct Variable {
    std::string name;
    std::string value;
};

std::vector<Variable> variables_of(const std::vector<Granted>& granted);

}  // namespace hook
