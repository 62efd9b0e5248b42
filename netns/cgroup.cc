// SPDX-License-Identifier: Apache-2.0
#include "netns/cgroup.h"

#include <cerrno>

#include <fcntl.h>

#include "netns/base/files.h"
#include "netns/cgroup_tree.h"

namespace netns {

using base::Code;
using base::Error;
using base::make_error;
using base::sys_error;
using base::UniqueFd;

namespace {
constexpr size_t kCgroupFileLimit = 1U << 16U;

// proc(5), /proc/PID/cgroup.
Result<std::string> cgroup_of(const std::string& process) {
    const std::string path = "/proc/" + process + "/cgroup";
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) {
        Error error = sys_error("open " + path);
        if (error.sys == ENOENT || error.sys == ESRCH)
            error.code = Code::Unavailable;
        return error;
    }
    return parse_cgroup_path(TRY(base::read_all(fd.get(), kCgroupFileLimit, path))).context(path);
}

class KernelCgroups : public Cgroups {
  public:
    Result<> check_rdma() override { return TRY(CgroupTree::host()).check_rdma(); }

    Result<> limit_rdma(pid_t pid, const Netns& ns, const RdmaLimit& limit) override {
        const CgroupTree tree = TRY(CgroupTree::host());
        TRY(tree.check_rdma());
        const std::string path = TRY(cgroup_of(std::to_string(pid)));
        // The engine's cgroup, or one above it: the limit would hit the engine and others.
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
