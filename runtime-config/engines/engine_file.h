// SPDX-License-Identifier: Apache-2.0
// Files of engines' configurations, on a disk, with an owner and a mode that are not ours to
// change. A file that others than root may write, or that is a symbolic link, is left alone.
#pragma once

#include <string>

#include "netns/base/owned_file.h"
#include "runtime-config/engines/edit.h"

namespace engines {

Result<FileText> read_engine_file(const std::string& path, const base::Owned& owned);

struct EngineTarget {
    std::string path;
    bool keep_copy = true;  // of what was there
};

// Replaces it atomically and for good (synced), with the owner and mode that it has, or 0644; or
// removes it. Makes the folder. Reads it again. The answer is the name of the copy, or empty.
// Code::Busy if it is no longer `before`.
Result<std::string> replace_engine_file(const EngineTarget& target,
                                        const FileText& before,
                                        const FileText& text,
                                        const base::Owned& owned);

}  // namespace engines
