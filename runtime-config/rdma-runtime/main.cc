// SPDX-License-Identifier: Apache-2.0
// rdma-runtime: dockerd and containerd call it in the place of runc or crun.
#include <climits>

#include <malloc.h>

#include "netns/base/confine.h"
#include "netns/base/owned_file.h"
#include "netns/kernel_host.h"
#include "runtime-config/rdma-runtime/shim.h"

int main(int argc, char** argv) {
    // The process lives for milliseconds, so memory is taken in one piece and kept until the end.
    (void)::mallopt(M_TOP_PAD, 1 << 20);
    (void)::mallopt(M_TRIM_THRESHOLD, INT_MAX);
    netns::KernelHost kernel;
    netns::Host host = kernel.host();
    shim::RealLowLevel low_level;
    const shim::Surroundings around{.host = host,
                                    .config = hook::ReadOnce{[] { return hook::load_config(); }},
                                    .runtime_setting = [] { return hook::runtime_setting(); },
                                    .root = base::is_machine_root(),
                                    .low_level = low_level,
                                    .apart =
                                        [](const std::function<base::Result<>()>& work) {
                                            return base::run_apart(base::Profile::Hook, work);
                                        }};
    return shim::serve({argv, argv + argc}, around);
}
