// SPDX-License-Identifier: Apache-2.0
// Writes to the terminal of the engine that called rdma-hook. Podman discards what a precreate hook
// writes; the person who typed the command must still see why it failed.
#pragma once

#include <string_view>

namespace netns {

// Writes a line to the standard error of the parent process. It writes on the parent's open file
// (pidfd_getfd(2), Linux 5.6), so that neither overwrites the other if that is a file. It never
// waits for a reader, and never acquires a controlling terminal. A failure is ignored.
void tell_parent(std::string_view line);

}  // namespace netns
