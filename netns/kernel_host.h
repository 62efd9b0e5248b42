// SPDX-License-Identifier: Apache-2.0
// KernelHost makes the rooms of the real world. Only code that makes one needs this header.
#pragma once

#include <memory>

#include "netns/base/files.h"
#include "netns/char_nodes.h"
#include "netns/host.h"
#include "netns/namespace.h"
#include "netns/process.h"
#include "netns/sys_class.h"

namespace netns {

class KernelHost {
  public:
    KernelHost();
    KernelHost(const KernelHost&) = delete;
    KernelHost& operator=(const KernelHost&) = delete;
    KernelHost(KernelHost&&) = delete;
    KernelHost& operator=(KernelHost&&) = delete;
    ~KernelHost();

    [[nodiscard]] Host host() {
        return {namespaces_,
                *links_,
                *rdma_,
                processes_,
                files_,
                *programs_,
                *neighbours_,
                *routes_,
                *sriov_,
                *cgroups_,
                *device_cgroups_,
                *placements_,
                classes_,
                *devlink_,
                *tc_,
                *ovs_,
                *statistics_,
                char_nodes_,
                *pci_};
    }

  private:
    KernelNetnses namespaces_;
    std::unique_ptr<Links> links_;
    std::unique_ptr<RdmaDevices> rdma_;
    KernelProcesses processes_;
    base::RealFiles files_;
    std::unique_ptr<Programs> programs_;
    std::unique_ptr<Neighbours> neighbours_;
    std::unique_ptr<Routes> routes_;
    std::unique_ptr<Sriov> sriov_;
    std::unique_ptr<Cgroups> cgroups_;
    std::unique_ptr<DeviceCgroups> device_cgroups_;
    std::unique_ptr<Placements> placements_;
    KernelSysClasses classes_;
    std::unique_ptr<Devlink> devlink_;
    std::unique_ptr<TcOffload> tc_;
    std::unique_ptr<Ovs> ovs_;
    std::unique_ptr<Statistics> statistics_;
    KernelCharNodes char_nodes_;
    std::unique_ptr<PciTree> pci_;
};

}  // namespace netns
