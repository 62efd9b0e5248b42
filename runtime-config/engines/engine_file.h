// SPDX-License-Identifier: Apache-2.0
// Files of engines' configurations, on a disk, whose owner and mode must stay. A file that others
// than root may write, or that is a symbolic link, is not changed.
#pragma once

#include <string>

#include "netns/base/owned_file.h"
#include "runtime-config/engines/edit.h"

namespace engines {

struct EngineTarget {
    std::string path;
    bool keep_copy = true;  // of the earlier file
    bool program = false;   // a new file is 0755
};

// Replaces the file atomically and syncs it, keeping its owner and mode (0644 for a new one, or 0755); or
// removes it, if `text` is nothing. Makes the folder. Reads the file again. Returns the path of the
// copy, or empty. Code::Busy: its text is not `before` any longer.
Result<std::string> replace_engine_file(const EngineTarget& target,
                                        const FileText& before,
                                        const FileText& text,
                                        const base::Owned& owned);

}  // namespace engines
