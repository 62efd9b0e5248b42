// SPDX-License-Identifier: Apache-2.0
// Engines that rdmactl configures, and the runtimes of rdma-hook that their files have.
#pragma once

#include <string>
#include <vector>

#include "hook/rdmactl/command.h"
#include "runtime-config/engines/edit.h"

namespace hook::ctl {

// A file of an engine that rdmactl edits.
struct EngineFile {
    const char* path = nullptr;     // nullptr: there is none
    const char* drop_in = nullptr;  // a file that may have the lines instead; nullptr: none
    Result<engines::Edited> (*edit)(const engines::EngineEdit&) = nullptr;
    const char* reload = "";  // empty: the engine reads the file each time
    bool is_ours = false;     // holds nothing of others: no copy is kept
};

struct Engine {
    const char* name;
    EngineFile hook;  // has what calls rdma-hook
    // nullptr: the engine starts no runtime of rdma-hook.
    Result<engines::Runtimes> (*runtimes)(const std::string&, const engines::FileText&) = nullptr;
    EngineFile memlock = {};      // has the default limit of locked memory
    const char* no_memlock = "";  // the reason why there is no such file
    const char* instead = "";     // the way to set the limit then
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
