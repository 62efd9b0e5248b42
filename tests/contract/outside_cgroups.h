// SPDX-License-Identifier: Apache-2.0
// The cgroups that the contract tests make on this machine: a folder, and in it that of the
// container.
#pragma once

#include <string>

namespace test {

inline constexpr char kTestSlice[] = "/sys/fs/cgroup/rdma-hook-contract";
inline constexpr char kTestBox[] = "/sys/fs/cgroup/rdma-hook-contract/box";

// Empty ones; whoever is in them has to have ended.
void remove_test_cgroups();

// One write(2) to a file of a cgroup; false if it was refused.
bool write_cgroup(const std::string& file, const std::string& text);

}  // namespace test
