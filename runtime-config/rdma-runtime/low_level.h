// SPDX-License-Identifier: Apache-2.0
// The low-level runtime that rdma-runtime stands before: which program it is, and the two ways to
// call it.
#pragma once

#include <string>
#include <vector>

#include "netns/base/result.h"

namespace shim {

// The program of the configuration, or, if that is empty, the default one, as the kernel names it:
// Refused unless root alone can change it or a folder above it (of one with the sticky bit nobody
// can rename what is root's), BadConfig if it is rdma-runtime itself.
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
