// SPDX-License-Identifier: Apache-2.0
// Lines of ours in files of others, known by a first line that has a checksum of the rest: what
// still has it is as we wrote it, whatever version of us that was, and may be replaced or removed.
#pragma once

#include <optional>
#include <string>

#include "runtime-config/engines/edit.h"

namespace engines {

struct MarkedLines {
    size_t begin = 0;  // in the file
    size_t end = 0;
    bool changed = false;  // by somebody else
};

// The lines with their marks.
std::string mark_lines(const std::string& lines);

// Nothing if there are none. BadInput if they begin twice, or do not end.
Result<std::optional<MarkedLines>> find_marked(const std::string& path, const std::string& text);

// The file with these lines at its end, or in the place of those that are there; without any if
// `lines` is nothing. Code::Busy if somebody has changed those that are there.
Result<std::string> put_marked(const EngineEdit& edit, const std::optional<std::string>& lines);

}  // namespace engines
