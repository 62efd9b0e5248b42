// SPDX-License-Identifier: Apache-2.0
// Engines that rdmactl configures, and the runtimes of rdma-hook that their files have.
#pragma once

#include <string>
#include <vector>

#include "hook/rdmactl/command.h"
#include "runtime-config/engines/edit.h"

namespace hook::ctl {

struct Engine {
    const char* name;
    const char* path;
    const char* drop_in;  // a file that may have the lines instead; nullptr: none
    Result<engines::Edited> (*edit)(const engines::EngineEdit&);
    // nullptr: the engine starts no runtime of rdma-hook.
    Result<engines::Runtimes> (*runtimes)(const std::string&, const engines::FileText&);
    const char* reload;  // empty: it reads the file each time
    bool file_is_ours;   // holds nothing of others: no copy is kept
};

Result<const Engine*> find_engine(const std::string& name);

// A runtime of rdma-hook in an engine's file.
struct Configured {
    std::string engine{};
    std::string file{};
    std::string name{};       // empty: the file cannot be read
    std::string low_level{};  // the program that rdma-runtime calls; empty: runc, or unknown
    std::string trouble{};    // the reason why it cannot be called; empty: it can
    std::string fix{};
};

std::vector<Configured> configured_runtimes(const Options& options);

}  // namespace hook::ctl
