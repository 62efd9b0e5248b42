// SPDX-License-Identifier: Apache-2.0
// Ways to attach: one list a mode.
#pragma once

#include <functional>

#include "tests/unit/hook/life.h"

namespace test {

World exclusive_world();           // 7.3 in RDMA netns mode exclusive
World with_container_link(World);  // the engine made eth0, 10.88.0.5/16, in the container

struct Way {
    std::string name;
    World world;
    std::map<std::string, std::string> annotations;
    std::string network = World::kContainerPath;
    std::function<void(hook::Config&)> configure = [](hook::Config&) {};
    bool refused = false;  // the attach fails, after it has begun
    bool plain = false;    // by plain hooks
    bool running = false;  // by rdmactl attach and detach
    // With CAP_NET_ADMIN, so that a netdev of the host's comes back as a new one.
    bool net_admin = false;
    // The container has a user namespace, and crun tells its hooks the bundle "/".
    bool user_namespace = false;
    bool first = false;     // the first since the boot: it makes the folders of the state
    std::string mode = {};  // set by all_ways() and rootless_ways()
};

// Names the test of a way.
inline constexpr auto kWayName = [](const auto& param) { return param.param.name; };

// Gives container and configuration what the way asks for.
void take(const Way& way, Life& life, StateDir& state);

// ways_MODE.cc has the ways of a mode.
std::vector<Way> softroce_ways();
std::vector<Way> softiwarp_ways();
std::vector<Way> shared_ways();
std::vector<Way> vf_ways();
std::vector<Way> asap2_ways();
std::vector<Way> host_ways();

struct WaysOfMode {
    const char* mode;
    std::vector<Way> (*ways)();
};

inline constexpr WaysOfMode kWaysOfModes[] = {{"softroce", softroce_ways},
                                              {"softiwarp", softiwarp_ways},
                                              {"shared", shared_ways},
                                              {"vf", vf_ways},
                                              {"asap2", asap2_ways},
                                              {"host", host_ways}};

std::vector<Way> all_ways();              // those of each mode, each named MODE_NAME
std::vector<Way> rootless_ways();         // of mode host, by a user's engine
std::vector<Way> adapter_ways();          // a VF of each adapter
std::vector<Way> further_adapter_ways();  // the other modes over each adapter that they attach on
std::vector<Way> plain_ways();            // those of each mode, by plain hooks
std::vector<Way> running_ways();          // those of each mode, into a container that runs

}  // namespace test
