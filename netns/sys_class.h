// SPDX-License-Identifier: Apache-2.0
// /sys/class: the folders in which programs look for devices, one for each class. In a container's
// own sysfs they have the same entries, links that begin with ../../devices/, as in the host's
// (RDMA netns mode shared), though infiniband is tagged with a namespace and infiniband_verbs is
// not. Read only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/result.h"

namespace netns {

using base::Result;

struct ClassFolder {
    std::map<std::string, std::string> links;  // of the devices asked for: name, target
    std::map<std::string, std::string> files;  // of the class itself: name ("abi_version"), content
    bool operator==(const ClassFolder&) const = default;
};

class SysClasses {
  public:
    virtual ~SysClasses() = default;

    // Nothing if there is no such class (its module is not loaded). Unavailable: no such device.
    virtual Result<std::optional<ClassFolder>> look(const std::string& name,
                                                    const std::vector<std::string>& devices) = 0;
};

class KernelSysClasses : public SysClasses {
  public:
    // Another root: for tests.
    explicit KernelSysClasses(std::string root = "/sys/class") : root_(std::move(root)) {}

    Result<std::optional<ClassFolder>> look(const std::string& name,
                                            const std::vector<std::string>& devices) override;

  private:
    std::string root_;
};

}  // namespace netns
