// SPDX-License-Identifier: Apache-2.0
// rdmactl's verbs. Each gathers its answer as JSON, which is what --json prints; without it the
// same JSON is laid out for people (text.h). So the two can never say different things.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hook/container/end.h"
#include "hook/state/runtimes.h"
#include "netns/base/owned_file.h"

namespace hook::ctl {

struct Options {
    std::string config_path = kConfigPath;
    std::function<Result<Config>()> load_config = [] { return hook::load_config(); };
    bool json = false;
    // plan, config check
    std::vector<std::string> annotations;  // KEY=VALUE
    std::string spec_path;                 // a config.json to take annotations from
    std::string netns_path;
    // list
    bool failed = false;
    // gc
    bool regrant = false;  // and allow the living their devices again
    bool forget = false;   // what cannot be seen is gone
    std::string runtimes = kRuntimesFolder;
    // show, stats, verify
    std::string container;
    // vf
    std::string pf;      // PCI address, netdev or RDMA device
    uint32_t count = 0;  // of VFs
    // asap2: pf (or a devlink handle) and count, too
    std::string bridge;     // empty: none
    std::string tc_policy;  // empty: as it is
    // cdi
    std::string cdi_output = "/run/cdi";               // a folder; "-": standard output
    std::string rdma_class = "/sys/class/infiniband";  // has a name for each RDMA device
    // doctor
    std::string mode;       // empty: all
    std::string host_root;  // before the paths that it reads; for tests
    // runtime configure
    std::string engine;
    bool dry_run = false;
    bool unset = false;
    bool starter_policy = false;  // and write a policy that allows nothing, if there is none
    base::Owned engine_files;     // and the configuration, where it is written
    // verify
    std::string peer;  // a second container or a host; empty: the container with itself
};

// An answer, and whether it is a bad one (exit status 1): trouble left by gc, say.
struct Answer {
    Json json;
    std::string text;
    bool trouble = false;
    int status = 0;  // the exit status of what was run; 0: as `trouble` says
};

// The configuration for the verbs that look after state: a broken one must not keep them from
// working, and they need nothing of it but the state folder. Says on stderr what is wrong with it.
Config config_for_upkeep(const Options& options);

Result<Answer> plan(const Options& options, netns::Host& host);
Result<Answer> list(const Options& options, netns::Host& host);
Result<Answer> show(const Options& options, netns::Host& host);
// What devices and interfaces of the living have counted: of one container, or of all.
Result<Answer> stats(const Options& options, netns::Host& host);
Result<Answer> verify(const Options& options, netns::Host& host);
// What of the host lets modes work, or not, with the command that mends it. Changes nothing.
Result<Answer> doctor(const Options& options, netns::Host& host);
Result<Answer> collect(const Options& options, netns::Host& host);
// Whether the configuration can be used, and what it says to each thing that a container asks for.
Result<Answer> check_config(const Options& options, netns::Host& host);
Result<Answer> vf_list(const Options& options, netns::Host& host);
// Makes so many VFs, with MACs that stay the same; repeatable. Neither this nor vf_disable destroys
// a VF that is in use.
Result<Answer> vf_enable(const Options& options, netns::Host& host);
Result<Answer> vf_disable(const Options& options, netns::Host& host);
// Puts an e-switch in mode switchdev and under rules of Open vSwitch, and back; repeatable, also
// after an interruption.
Result<Answer> asap2_enable(const Options& options, netns::Host& host);
Result<Answer> asap2_disable(const Options& options, netns::Host& host);
// Makes an engine know us, or forget us, by its configuration; repeatable. Runs nothing.
Result<Answer> runtime_configure(const Options& options, netns::Host& host);
// Pools and the host's RDMA devices as an engine's --device can name them; refreshed by being run
// again.
Result<Answer> cdi_generate(const Options& options, netns::Host& host);
Result<Answer> cdi_list(const Options& options, netns::Host& host);
// What is missing for offload, and why.
Result<Answer> asap2_status(const Options& options, netns::Host& host);

}  // namespace hook::ctl
