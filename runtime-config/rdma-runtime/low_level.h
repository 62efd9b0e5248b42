// SPDX-License-Identifier: Apache-2.0
// The low-level runtime behind rdma-runtime: which program it is, and the two ways to call it.
#pragma once

#include <string>
#include <vector>

#include "netns/base/result.h"

namespace shim {

// Returns the kernel's path of the configured program; of the default one if `configured` is empty.
// Refused unless only root can change it (base::find_owned_program). BadConfig: it is rdma-runtime
// itself, or this process is a low-level runtime of rdma-runtime, which would call it without end.
base::Result<std::string> find_runtime(const std::string& configured);

// Returns the kernel's path of the program that a call names; the rules are the same. An empty path
// names no program.
base::Result<std::string> find_named(const std::string& path);

// Returns the installed runc; its first usual place if there is none.
std::string default_runtime();

class LowLevel {
  public:
    virtual ~LowLevel() = default;
    // Becomes the program; returns only if that fails.
    virtual base::Error become(const std::string& path, const std::vector<std::string>& argv) = 0;
    // Runs the program as a child in the place of this one (stand_in.h). Returns its exit status.
    virtual base::Result<int> run(const std::string& path,
                                  const std::vector<std::string>& argv) = 0;
};

class RealLowLevel : public LowLevel {
  public:
    base::Error become(const std::string& path, const std::vector<std::string>& argv) override;
    base::Result<int> run(const std::string& path, const std::vector<std::string>& argv) override;
};

}  // namespace shim
