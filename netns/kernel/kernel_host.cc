// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel_host.h"

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

}  // namespace netns
