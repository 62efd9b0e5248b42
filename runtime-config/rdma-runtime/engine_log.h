// SPDX-License-Identifier: Apache-2.0
// The file of --log: if a runtime fails, dockerd and containerd show what they find in it.
#pragma once

#include <string>
#include <string_view>

namespace shim {

// Returns one entry of level error, as runc writes it: `format` is json or text. `time` is RFC
// 3339.
std::string log_entry(std::string_view format, std::string_view time, std::string_view line);

// Appends the entry to the file, best effort. Does nothing if `log` is empty or a target of crun
// (journald:, syslog:).
void tell_engine(const std::string& log, std::string_view format, std::string_view line);

}  // namespace shim
