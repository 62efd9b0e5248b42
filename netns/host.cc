// SPDX-License-Identifier: Apache-2.0
#include "netns/host.h"

namespace netns {

KernelHost::KernelHost()
    : links_(make_kernel_links()),
      rdma_(make_kernel_rdma_devices()),
      programs_(make_kernel_programs()) {}

}  // namespace netns
