// SPDX-License-Identifier: Apache-2.0
// The file of --log: of a runtime that failed, dockerd and containerd show what they find there.
#pragma once

#include <string>
#include <string_view>

namespace shim {

// One entry of level error, as runc writes it: `format` is json or text. `time` is RFC 3339.
std::string log_entry(std::string_view format, std::string_view time, std::string_view line);

// Appends the entry to the file; best effort. Empty: there is none. crun's journald: and syslog:
// are none either.
void tell_engine(const std::string& log, std::string_view format, std::string_view line);

}  // namespace shim
