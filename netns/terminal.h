// SPDX-License-Identifier: Apache-2.0
// The terminal of the engine that called us. Podman swallows what a precreate hook writes; the
// person who typed the command must see why it failed all the same.
#pragma once

#include <string_view>

namespace netns {

// Writes a line to the standard error of our parent process, as if the parent had written it: on
// the same open file (pidfd_getfd(2), Linux 5.6), so that neither overwrites the other where it is
// a file. Never waits for a reader, never becomes a terminal's session; a failure is ignored.
void tell_parent(std::string_view line);

}  // namespace netns
