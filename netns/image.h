// SPDX-License-Identifier: Apache-2.0
// ImageRoot is the folder that becomes a container's root, with what its image has in it. That is
// a stranger's, so it is only looked at. No file is opened, links lead nowhere out of the root, and
// no mount is crossed (openat2(2) RESOLVE_IN_ROOT, RESOLVE_NO_XDEV; kernel 5.6). So it can make a
// call fail, and neither block it nor make it long.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netns/names.h"

namespace netns {

enum class ImageEntry { Missing, EmptyFile, File, Folder, Other };

class ImageRoot {
  public:
    // Opens the folder at a path of the host.
    static Result<ImageRoot> open(const std::string& path);

    // Returns the kind of what is at the path, following links. Missing: also below a folder that
    // is missing, and where a link leads to nothing. Refused: a mount is in the way, or a link that
    // leads nowhere.
    [[nodiscard]] Result<ImageEntry> look(const std::string& path) const;

    // Returns the target of the link at the path; nothing if there is no link.
    [[nodiscard]] Result<std::optional<std::string>> link(const std::string& path) const;

    // Returns the names in a folder, sorted; none if there is no such folder. BadInput: there are
    // more than `most`.
    [[nodiscard]] Result<std::vector<std::string>> names(const std::string& path,
                                                         size_t most) const;

    // Returns whether nothing can be made there because the file system is read-only.
    [[nodiscard]] Result<bool> is_read_only() const;

  private:
    explicit ImageRoot(UniqueFd root) : root_(std::move(root)) {}

    UniqueFd root_;
};

}  // namespace netns
