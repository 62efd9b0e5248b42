// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel_host.h"

#include "netns/cgroup.h"
#include "netns/device_cgroup.h"
#include "netns/devlink.h"
#include "netns/launch.h"
#include "netns/link.h"
#include "netns/neighbour.h"
#include "netns/ovs.h"
#include "netns/pci_tree.h"
#include "netns/placement.h"
#include "netns/rdma.h"
#include "netns/route.h"
#include "netns/sriov.h"
#include "netns/statistics.h"
#include "netns/tc_offload.h"

namespace netns {

KernelHost::KernelHost()
    : links_(make_kernel_links()),
      rdma_(make_kernel_rdma_devices()),
      programs_(make_kernel_programs()),
      neighbours_(make_kernel_neighbours()),
      routes_(make_kernel_routes()),
      sriov_(make_kernel_sriov()),
      cgroups_(make_kernel_cgroups()),
      device_cgroups_(make_kernel_device_cgroups()),
      placements_(make_kernel_placements()),
      devlink_(make_kernel_devlink()),
      tc_(make_kernel_tc_offload()),
      ovs_(make_ovs()),
      statistics_(make_kernel_statistics()),
      pci_(make_kernel_pci_tree()) {}

KernelHost::~KernelHost() = default;

}  // namespace netns
