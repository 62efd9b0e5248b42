// SPDX-License-Identifier: Apache-2.0
// rdma-hook's command line, and its messages to people. It is parsed by hand and not by a library.
// The code runs in every container start, and its only caller is a line that rdma-hook wrote
// itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/stages.h"

namespace hook {

struct Stage {
    std::string_view name;
    Result<> (*run)(const std::string& input, const Call& call);
    bool may_fail;  // poststop never fails: the runtime could not do anything about it
    bool is_plain;  // may be a plain hook that attaches
};

struct Command {
    const Stage* stage = nullptr;
    std::string config_path;
    std::string state_dir;
    std::string container;
    std::string attach;
    Annotations annotations;
};

Result<Command> parse_command(const std::vector<std::string>& args);
Call call_of(const Command& command, netns::Host& host);

// Returns a program's path as /proc/PID/exe names it, without the mark of a replaced file. If a
// package's upgrade has replaced the program meanwhile, the new one is at the same place.
std::string without_deleted(std::string path);

// Prints one line for the person at the terminal, and logs the whole error. Returns the exit
// status.
int report(const Command& command, const Call& call, const base::Error& error);
int usage(const std::vector<std::string>& args, const base::Error& error);

}  // namespace hook
