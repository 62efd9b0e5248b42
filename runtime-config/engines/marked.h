// SPDX-License-Identifier: Apache-2.0
// Lines of rdma-hook in files of others. Their first line has a checksum of the rest. Lines that
// match it are as rdma-hook wrote them, in whatever version, and may be replaced or removed.
#pragma once

#include <optional>
#include <string>

#include "runtime-config/engines/edit.h"

namespace engines {

struct MarkedLines {
    size_t begin = 0;  // bytes from the file's start
    size_t end = 0;
    bool changed = false;  // the checksum does not match
};

// Finds the marked lines; nothing if there are none. BadInput: they begin twice, or do not end.
Result<std::optional<MarkedLines>> find_marked(const std::string& path, const std::string& text);

// Returns the file with these lines in the place of the present ones, or at its end; without any if
// `lines` is nothing. Code::Busy: the present ones were changed.
Result<std::string> put_marked(const EngineEdit& edit, const std::optional<std::string>& lines);

}  // namespace engines
