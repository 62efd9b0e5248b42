// SPDX-License-Identifier: Apache-2.0
// Runtimes of rdma-hook by name. An engine knows each as a name and a program. The program of
// `rdma` is rdma-runtime itself, whose low-level runtime the configuration names. Every other has a
// file, whose first line names rdma-runtime and the low-level runtime to the kernel:
//
//   /etc/rdma-hook/rdma-runtime.d/rdma-crun      #!/usr/bin/rdma-runtime --low-level=/usr/bin/crun
//
// It is a file, because no engine passes arguments on: containerd and CRI-O have none, and dockerd
// writes a shell script for `runtimeArgs`, which parts words at spaces and stays as a process
// (moby, daemon/runtime_unix.go).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "netns/base/result.h"

namespace engines {

using base::Result;

// The runtime without a file.
inline constexpr char kRuntimeName[] = "rdma";
inline constexpr char kNamedFolder[] = "/etc/rdma-hook/rdma-runtime.d";

// Names of an engine's runtimes, with the program of each.
using Runtimes = std::map<std::string, std::string>;

// Returns whether rdma-hook gives a runtime such a name: "rdma", or "rdma-" with at most 32 small
// letters, digits and hyphens. So it takes nobody's: "runc" and "nvidia" stay as they are.
bool is_runtime_name(std::string_view name);

std::string path_of_named(const std::string& name);

// Returns whether an engine's runtime of this name is rdma-hook's, by the program's path.
bool is_ours(const std::string& name, const std::string& program);

// Returns the text of the file. Unsupported: the kernel does not read so long a line.
Result<std::string> text_of_named(const std::string& rdma_runtime, const std::string& low_level);

// Returns the low-level runtime of a file with this text. BadConfig: rdma-hook did not write it.
Result<std::string> low_level_of(const std::string& path, const std::string& text);

}  // namespace engines
