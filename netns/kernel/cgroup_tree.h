// SPDX-License-Identifier: Apache-2.0
// The tree of cgroup2 by descriptors: no step down follows a link. Private to netns/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netns/base/unique_fd.h"
#include "netns/cgroup.h"

namespace netns {

class CgroupTree {
  public:
    // The one at /sys/fs/cgroup; Unsupported if cgroup2 is not mounted there (cgroup v1, hybrid).
    static Result<CgroupTree> host();
    // Any folder: for tests.
    static Result<CgroupTree> at(const std::string& path);

    // Unsupported unless the root has the controller.
    [[nodiscard]] Result<> check_rdma() const;
    // Has every ancestor of the cgroup hand the controller down, from the root on.
    [[nodiscard]] Result<> enable_rdma(const std::string& path) const;
    // Writes rdma.max of the cgroup and compares what it says then. The caller is in the device's
    // network namespace.
    [[nodiscard]] Result<> set_rdma_max(const std::string& path, const RdmaLimit& limit) const;
    // The cgroup's folder, opened (not by O_PATH: bpf(2) does not take that). Unavailable: it was
    // removed.
    [[nodiscard]] Result<base::UniqueFd> open(const std::string& path) const;

  private:
    explicit CgroupTree(base::UniqueFd root) : root_(std::move(root)) {}

    base::UniqueFd root_;
};

// The cgroup2 path of /proc/PID/cgroup: "/a/b", without "." and "..". Unsupported: there is none,
// or it is outside of our cgroup namespace. Unavailable: it was removed.
Result<std::string> parse_cgroup_path(std::string_view text);

// The cgroup2 path of a process, by pid or "self". Unavailable: there is no such process.
Result<std::string> cgroup_of(const std::string& process);

// Whether `path` is `other` or an ancestor of it.
bool is_same_or_above(std::string_view path, std::string_view other);

// The cgroups on the way up from a container's init whose device programs are the container's own,
// the innermost first: up to the scope that systemd on the host made for it, where it has one.
// `ours` is our own cgroup.
std::vector<std::string> own_cgroups_of(const std::string& path, const std::string& ours);

}  // namespace netns
