// SPDX-License-Identifier: Apache-2.0
#include "netns/cgroup.h"

#include "netns/kernel/cgroup_tree.h"

namespace netns {

namespace {
class KernelCgroups : public Cgroups {
  public:
    Result<> check_rdma() override { return TRY(CgroupTree::host()).check_rdma(); }

    Result<> limit_rdma(const ProcessToken& process,
                        const Netns& ns,
                        const RdmaLimit& limit) override {
        const CgroupTree tree = TRY(CgroupTree::host());
        TRY(tree.check_rdma());
        const std::string path = TRY(cgroup_of(std::to_string(process.pid)));
        // This check proves that the answer was about this process.
        if (TRY(KernelProcesses{}.token(process.pid)) != process)
            return make_error(Code::Unavailable,
                              "process " + std::to_string(process.pid) + " is gone")
                .advise("start the container again");
        // This is the engine's cgroup, or one above it: the limit would hit the engine and other
        // containers.
        if (is_same_or_above(path, TRY(cgroup_of("self"))))
            return make_error(Code::Unsupported,
                              "the container has no cgroup of its own that could be limited")
                .advise(
                    "leave out --cgroups=disabled, or rdma.max_hca_handles and "
                    "rdma.max_hca_objects");
        TRY(tree.enable_rdma(path));
        return inside(ns, [&] { return tree.set_rdma_max(path, limit); });
    }
};
}  // namespace

std::unique_ptr<Cgroups> make_kernel_cgroups() {
    return std::make_unique<KernelCgroups>();
}

}  // namespace netns
