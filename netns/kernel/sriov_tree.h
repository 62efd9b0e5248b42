// SPDX-License-Identifier: Apache-2.0
// PCI functions in the tree of sysfs (Documentation/ABI/testing/sysfs-bus-pci, sysfs-class-net).
// Names from outside are checked before they become part of a path. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netns/kernel/sysfs.h"
#include "netns/sriov.h"

namespace netns {

// The functions of Sriov with the same names, over any tree.
Result<std::optional<PciFunction>> find_function(const SysTree& tree, const std::string& address);
Result<std::optional<std::string>> find_vf_of(const SysTree& tree,
                                              const std::string& pf,
                                              uint32_t number);
Result<std::vector<PciFunction>> list_pfs_of(const SysTree& tree);
Result<std::vector<PciNetdev>> representors_of(const SysTree& tree, const std::string& pf);
// Returns the function behind an entry of a class ("net", "infiniband"). Nothing if there is no
// such entry, or if it belongs to no PCI function: it is virtual, or on a virtio or auxiliary bus.
Result<std::optional<std::string>> find_in_class(const SysTree& tree,
                                                 const std::string& device_class,
                                                 const std::string& name);

Result<> write_num_vfs(const SysTree& tree, const std::string& pf, uint32_t count);
Result<std::optional<bool>> read_autoprobe(const SysTree& tree, const std::string& pf);
Result<> write_autoprobe(const SysTree& tree, const std::string& pf, bool on);
Result<> unbind_driver(const SysTree& tree, const std::string& address);
Result<> bind_driver(const SysTree& tree, const std::string& address, const std::string& driver);

}  // namespace netns
