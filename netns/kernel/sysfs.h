// SPDX-License-Identifier: Apache-2.0
// The tree of sysfs. /sys/class/infiniband is tagged: it shows the devices of the namespace in
// which that sysfs was mounted. In RDMA's exclusive mode a device of another namespace is seen only
// through a sysfs mounted from within it. Such a mount is attached to no folder (fsopen(2), 5.2).
// Private to netns/kernel/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netns/base/unique_fd.h"
#include "netns/namespace.h"

namespace netns {

class SysTree {
  public:
    // Opens the tree at /sys.
    static Result<SysTree> host();
    // Opens the tree as seen from a namespace.
    static Result<SysTree> of(const Netns& ns);
    // Opens any folder: for tests.
    static Result<SysTree> at(const std::string& path);

    // Returns the folder below, or nothing. A folder that is read often is entered once: the way to
    // a device leads over several links.
    [[nodiscard]] Result<std::optional<SysTree>> enter(const std::string& path) const;
    // Returns the text of a file without its newline; nothing if there is no such file. A file
    // without a value has the text "". (EINVAL: an empty slot of a GID table in some drivers;
    // EOPNOTSUPP: a port without a name.)
    [[nodiscard]] Result<std::optional<std::string>> read(const std::string& path) const;
    // Returns a symbolic link's target; nothing if there is no link.
    [[nodiscard]] Result<std::optional<std::string>> target(const std::string& path) const;
    // Returns the last component of it.
    [[nodiscard]] Result<std::optional<std::string>> link(const std::string& path) const;
    // Returns the names in a folder, sorted; none if there is no such folder.
    [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path) const;
    // Writes an existing file (else sys is ENOENT). The last component must not be a symbolic link.
    [[nodiscard]] Result<> write(const std::string& path, const std::string& text) const;

  private:
    explicit SysTree(base::UniqueFd root) : root_(std::move(root)) {}

    base::UniqueFd root_;
};

}  // namespace netns
