// SPDX-License-Identifier: Apache-2.0
// KernelHost makes the rooms of the real world. Only code that makes one needs this header.
#pragma once

#include <memory>

#include "netns/base/files.h"
#include "netns/cgroup.h"
#include "netns/char_nodes.h"
#include "netns/device_cgroup.h"
#include "netns/devlink.h"
#include "netns/host.h"
#include "netns/launch.h"
#include "netns/link.h"
#include "netns/namespace.h"
#include "netns/neighbour.h"
#include "netns/ovs.h"
#include "netns/pci_tree.h"
#include "netns/placement.h"
#include "netns/process.h"
#include "netns/rdma.h"
#include "netns/route.h"
#include "netns/sriov.h"
#include "netns/statistics.h"
#include "netns/sys_class.h"
#include "netns/tc_offload.h"

namespace netns {

class KernelHost {
  public:
    KernelHost();

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
