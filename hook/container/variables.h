// SPDX-License-Identifier: Apache-2.0
// The environment variables by which programs of a container find its RDMA.
// docs/reference/attach-json.md has the list for people.
#pragma once

#include <string>
#include <vector>

#include "hook/container/inspect.h"

namespace hook {

struct Variable {
    std::string name;
    std::string value;
};

std::vector<Variable> variables_of(const std::vector<Granted>& granted);

// A file from which a library reads variables of its own where the environment has none.
struct SettingsFile {
    const char* name;
    const char* path;    // in the container
    const char* prefix;  // of the variables
};

// NCCL reads /etc/nccl.conf (misc/param.cc). UCX from 1.12 on reads the folder ucx of the
// sysconfdir that it was built with (config/parser.c): /etc in packages of distributions. To both,
// "#" at the beginning of a line is a comment, and the environment comes first.
inline constexpr SettingsFile kSettingsFiles[] = {{"nccl.conf", "/etc/nccl.conf", "NCCL_"},
                                                  {"ucx.conf", "/etc/ucx/ucx.conf", "UCX_"}};

// Returns the file's text.
std::string settings_text(const SettingsFile& file, const std::vector<Variable>& variables);

}  // namespace hook
