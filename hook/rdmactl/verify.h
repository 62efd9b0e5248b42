// SPDX-License-Identifier: Apache-2.0
// The parts of rdmactl verify: its targets, and the programs that it runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

// A container that lives, and its attachment 0.
struct Target {
    std::string id;  // shortened
    netns::Netns ns;
    std::string device;
    std::string address;  // without prefix; empty: it has none of its own
    std::string attach_file;
    bool by_cm = false;  // its device has no GIDs of addresses: only rdma_cm connects it
};

// Unavailable: the container does not run (any more) or has no attachment.
Result<Target> target_of(const Context& context, const Container& container);

// Both return command lines of rdma-perf.
std::vector<std::string> serve_arguments(const Target& target);
std::vector<std::string> run_arguments(const Target& target,
                                       const std::string& host,
                                       const std::string& port,
                                       bool json);
std::vector<std::string> loop_arguments(const Target& target, bool json);

// Returns the port in the server's line "listening on ADDRESS:PORT"; nothing before that line is
// complete.
std::optional<std::string> listening_port(std::string_view text);

}  // namespace hook::ctl
