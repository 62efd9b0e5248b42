// SPDX-License-Identifier: Apache-2.0
// Ways to attach, for every_mode_test: one list a mode.
#pragma once

#include <functional>

#include "tests/unit/hook/life.h"

namespace test {

struct Way {
    std::string name;
    World world;
    std::map<std::string, std::string> annotations;
    std::string network = World::kContainerPath;
    std::function<void(hook::Config&)> configure = [](hook::Config&) {};
    bool refused = false;  // the attach fails, after it has begun
};

std::vector<Way> softroce_ways();
std::vector<Way> vf_ways();

}  // namespace test
