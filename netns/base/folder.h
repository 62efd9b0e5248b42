// SPDX-License-Identifier: Apache-2.0
// Folders by descriptor, without libc's buffers around the kernel's calls (getdents64(2),
// unlinkat(2)): a hook looks into some in every container start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netns/base/result.h"

namespace base {

// The names in an open folder, sorted, without "." and "..". `what` is the folder in errors.
Result<std::vector<std::string>> names_in(int folder, std::string_view what);

// Removes what has this name in the folder, with all that is in it, following no link; nothing of
// that name is no error. BadInput if folders are nested deeper than any of ours.
Result<> remove_tree_in(int folder, const std::string& name);

}  // namespace base
