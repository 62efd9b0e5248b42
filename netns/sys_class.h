// SPDX-License-Identifier: Apache-2.0
// SysClasses reads /sys/class: the folders in which programs look for devices, one for each class.
// In RDMA netns mode shared, a container's own sysfs has the same entries as the host's: links that
// begin with ../../devices/. (infiniband is tagged with a namespace, and infiniband_verbs is not.)
// Read only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netns/names.h"

namespace netns {

struct ClassFolder {
    std::map<std::string, std::string> links;  // the devices asked for: name, target
    std::map<std::string, std::string> files;  // the class's own: name ("abi_version"), content
    bool operator==(const ClassFolder&) const = default;
};

class SysClasses {
  public:
    virtual ~SysClasses() = default;

    // Returns the class called `name`, with the links of these devices. Nothing: there is no such
    // class (its module is not loaded). Unavailable: no such device.
    virtual Result<std::optional<ClassFolder>> look(const std::string& name,
                                                    const std::vector<std::string>& devices) = 0;
};

class KernelSysClasses : public SysClasses {
  public:
    // Tests give another root.
    explicit KernelSysClasses(std::string root = "/sys/class") : root_(std::move(root)) {}

    Result<std::optional<ClassFolder>> look(const std::string& name,
                                            const std::vector<std::string>& devices) override;

  private:
    std::string root_;
};

}  // namespace netns
