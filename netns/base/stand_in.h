// SPDX-License-Identifier: Apache-2.0
// To stand in for another program: our caller started us and means it. It gets our arguments, our
// environment, all descriptors that we inherited and our place in the terminal's process group.
// (A program that is ours to use and not to be, with pipes and a group of its own: child.h.)
#pragma once

#include <string>
#include <vector>

#include "netns/base/result.h"

namespace base {

// Becomes the program (execv): comes back only if that fails.
Error become(const std::string& path, const std::vector<std::string>& argv);

// Runs it beside us and waits for its end; its status, as a shell would say it. Signals that
// somebody sends us are sent on to it (those of the terminal reach the whole group by themselves),
// and the kernel kills it if we die. A LISTEN_PID that means us means it. For programs with one
// thread.
Result<int> run_in_our_place(const std::string& path, const std::vector<std::string>& argv);

}  // namespace base
