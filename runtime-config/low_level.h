// SPDX-License-Identifier: Apache-2.0
// The low-level runtime that rdma-runtime stands before: which program it is, and the two ways to
// call it.
#pragma once

#include <string>
#include <vector>

#include "netns/base/result.h"

namespace shim {

// The program of the configuration, as the kernel names it: Refused unless root alone can change it
// or a folder above it, Usage if it is rdma-runtime itself. Empty: the default.
base::Result<std::string> find_runtime(const std::string& configured);

// runc where it is installed; the first place where it is usually if it is nowhere.
std::string default_runtime();

class LowLevel {
  public:
    virtual ~LowLevel() = default;
    // Becomes the program: comes back only if that fails.
    virtual base::Error become(const std::string& path, const std::vector<std::string>& argv) = 0;
    // Runs it in our place; its status.
    virtual base::Result<int> run(const std::string& path,
                                  const std::vector<std::string>& argv) = 0;
};

class RealLowLevel : public LowLevel {
  public:
    base::Error become(const std::string& path, const std::vector<std::string>& argv) override;
    base::Result<int> run(const std::string& path, const std::vector<std::string>& argv) override;
};

}  // namespace shim
