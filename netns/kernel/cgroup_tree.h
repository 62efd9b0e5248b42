// SPDX-License-Identifier: Apache-2.0
// The tree of cgroup2, reached by descriptors: no step down follows a link. Private to
// netns/kernel/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netns/base/unique_fd.h"
#include "netns/cgroup.h"

namespace netns {

class CgroupTree {
  public:
    // Opens the tree at /sys/fs/cgroup. Unsupported: cgroup2 is not mounted there (cgroup v1,
    // hybrid).
    static Result<CgroupTree> host();
    // Opens any folder: for tests.
    static Result<CgroupTree> at(const std::string& path);

    // Unsupported: the root does not have the controller.
    [[nodiscard]] Result<> check_rdma() const;
    // Enables the controller in every ancestor of the cgroup, from the root on.
    [[nodiscard]] Result<> enable_rdma(const std::string& path) const;
    // Writes rdma.max of the cgroup, reads it back and compares. The caller is in the device's
    // network namespace.
    [[nodiscard]] Result<> set_rdma_max(const std::string& path, const RdmaLimit& limit) const;
    // Opens the cgroup's folder, without O_PATH, which bpf(2) does not take. Unavailable: it was
    // removed.
    [[nodiscard]] Result<base::UniqueFd> open(const std::string& path) const;

  private:
    explicit CgroupTree(base::UniqueFd root) : root_(std::move(root)) {}

    base::UniqueFd root_;
};

// Returns the cgroup2 path from the text of /proc/PID/cgroup: "/a/b", without "." and "..".
// Unsupported: there is none, or it is outside of this process's cgroup namespace. Unavailable: the
// cgroup was removed.
Result<std::string> parse_cgroup_path(std::string_view text);

// Returns the cgroup2 path of a process, by pid or "self". Unavailable: there is no such process.
Result<std::string> cgroup_of(const std::string& process);

// Returns whether `path` is `other` or an ancestor of it.
bool is_same_or_above(std::string_view path, std::string_view other);

// Returns the cgroups whose device programs belong to the container, innermost first. They are on
// the way up from its init, up to the scope that systemd on the host made for it, if there is one.
// `ours` is this process's cgroup.
std::vector<std::string> own_cgroups_of(const std::string& path, const std::string& ours);

}  // namespace netns
