// SPDX-License-Identifier: Apache-2.0
// Folders by descriptor, without the buffers that libc puts around the kernel's calls
// (getdents64(2), unlinkat(2)). A hook reads some folders in every container start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netns/base/result.h"

namespace base {

// Returns the names in an open folder, sorted, without "." and "..". `what` is the folder in
// errors.
Result<std::vector<std::string>> names_in(int folder, std::string_view what);

// Removes the entry of this name with all its content, following no link. No such entry is no
// error. BadInput: folders are nested deeper than any that this project makes.
Result<> remove_tree_in(int folder, const std::string& name);

}  // namespace base
