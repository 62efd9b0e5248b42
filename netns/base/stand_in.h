// SPDX-License-Identifier: Apache-2.0
// Runs another program in the place of this one, because the caller meant to start that program. It
// gets this process's arguments, environment, inherited descriptors and place in the terminal's
// process group. (child.h runs a program as a tool, with pipes and a group of its own.)
#pragma once

#include <string>
#include <vector>

#include "netns/base/result.h"

namespace base {

// Becomes the program (execv). It returns only if that fails.
Error become(const std::string& path, const std::vector<std::string>& argv);

// Runs the program as a child and waits for its end. Returns its exit status as a shell reports it.
// Signals sent to this process are passed on to it; those of the terminal reach the whole group
// anyway. The kernel kills it if this process dies. If LISTEN_PID names this process, the child
// gets its own pid there. For programs with one thread.
Result<int> run_in_our_place(const std::string& path, const std::vector<std::string>& argv);

}  // namespace base
