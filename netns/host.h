// SPDX-License-Identifier: Apache-2.0
// Host: all rooms of the outside world in one hand. Decisions get a Host&; tests build one of
// fakes.
#pragma once

#include <memory>

#include "netns/base/files.h"
#include "netns/launch.h"
#include "netns/link.h"
#include "netns/namespace.h"
#include "netns/process.h"
#include "netns/rdma.h"

namespace netns {

struct Host {
    Netnses& namespaces;
    Links& links;
    RdmaDevices& rdma;
    Processes& processes;
    base::Files& files;
    Programs& programs;
};

// The real world.
class KernelHost {
  public:
    KernelHost();

    [[nodiscard]] Host host() {
        return {namespaces_, *links_, *rdma_, processes_, files_, *programs_};
    }

  private:
    KernelNetnses namespaces_;
    std::unique_ptr<Links> links_;
    std::unique_ptr<RdmaDevices> rdma_;
    KernelProcesses processes_;
    base::RealFiles files_;
    std::unique_ptr<Programs> programs_;
};

}  // namespace netns
