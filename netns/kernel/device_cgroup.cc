// SPDX-License-Identifier: Apache-2.0
#include "netns/device_cgroup.h"

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/kernel/cgroup_tree.h"
#include "netns/kernel/device_program.h"

namespace netns {

namespace {
constexpr size_t kMostPrograms = 64;  // BPF_CGROUP_MAX_PROGS
// The number of tries, if another process keeps replacing the program between look and change.
constexpr int kMostTries = 20;

// Calls bpf(2), always with the whole attr, zeroed: kernels write members that a shorter one lacks.
long bpf(int command, bpf_attr& attr) {
    return ::syscall(SYS_bpf, command, &attr, sizeof attr);
}

template <class T>
__u64 address_of(T* object) {
    return reinterpret_cast<__u64>(object);  // NOLINT: bpf(2) takes pointers so
}

struct Attached {
    std::vector<__u32> programs;  // ids
    __u32 flags = 0;
};

Result<Attached> list_programs(const UniqueFd& cgroup) {
    Attached attached;
    attached.programs.resize(kMostPrograms);
    bpf_attr attr{};
    attr.query.target_fd = static_cast<__u32>(cgroup.get());
    attr.query.attach_type = BPF_CGROUP_DEVICE;
    attr.query.prog_ids = address_of(attached.programs.data());
    attr.query.prog_cnt = kMostPrograms;
    if (bpf(BPF_PROG_QUERY, attr) != 0)
        return sys_error("ask for the cgroup's device programs");
    attached.programs.resize(attr.query.prog_cnt);
    attached.flags = attr.query.attach_flags;
    return attached;
}

struct LoadedProgram {
    UniqueFd fd;
    BpfCode code;
};

Result<LoadedProgram> read_program(__u32 id) {
    bpf_attr attr{};
    attr.prog_id = id;
    LoadedProgram program;
    program.fd = UniqueFd{static_cast<int>(bpf(BPF_PROG_GET_FD_BY_ID, attr))};
    if (!program.fd)
        return sys_error("open the device program " + std::to_string(id));
    // The first call gets the length, the second the code.
    for (int i = 0; i < 2; ++i) {
        bpf_prog_info info{};
        info.xlated_prog_len = static_cast<__u32>(program.code.size() * sizeof(bpf_insn));
        info.xlated_prog_insns = address_of(program.code.data());
        attr = {};
        attr.info.bpf_fd = static_cast<__u32>(program.fd.get());
        attr.info.info_len = sizeof info;
        attr.info.info = address_of(&info);
        if (bpf(BPF_OBJ_GET_INFO_BY_FD, attr) != 0)
            return sys_error("read the device program " + std::to_string(id));
        program.code.resize(info.xlated_prog_len / sizeof(bpf_insn));
    }
    return program;
}

Result<UniqueFd> load_program(const BpfCode& code) {
    static constexpr char kLicense[] = "GPL";  // runtimes load their programs under it
    bpf_attr attr{};
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.insns = address_of(code.data());
    attr.insn_cnt = static_cast<__u32>(code.size());
    attr.license = address_of(kLicense);
    UniqueFd fd{static_cast<int>(bpf(BPF_PROG_LOAD, attr))};
    if (fd)
        return fd;
    Error error = sys_error("load the container's device program with one more device");
    if (error.sys == EINVAL || error.sys == EACCES)
        return std::move(error).advise(
            "see whether net.core.bpf_jit_harden is 2: then no program "
            "can be read and loaded again; use precreate or rdma-runtime");
    return error;
}

Result<> swap(const UniqueFd& cgroup,
              const Attached& attached,
              const UniqueFd& old_program,
              const UniqueFd& new_program) {
    bpf_attr attr{};
    attr.target_fd = static_cast<__u32>(cgroup.get());
    attr.attach_bpf_fd = static_cast<__u32>(new_program.get());
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = attached.flags;
    // If a cgroup may have only one program, attaching replaces it.
    if ((attached.flags & BPF_F_ALLOW_MULTI) != 0) {
        attr.attach_flags |= BPF_F_REPLACE;
        attr.replace_bpf_fd = static_cast<__u32>(old_program.get());
    }
    if (bpf(BPF_PROG_ATTACH, attr) != 0)
        return sys_error("replace the cgroup's device program");
    return {};
}

using Rewrite = std::function<BpfCode(const BpfCode&)>;

// Returns whether anything had to be changed.
Result<bool> rewrite_once(const UniqueFd& cgroup, const Rewrite& rewrite) {
    const Attached attached = TRY(list_programs(cgroup));
    bool changed = false;
    for (const __u32 id : attached.programs) {
        const LoadedProgram old_program = TRY(read_program(id));
        const BpfCode code = rewrite(old_program.code);
        if (same_code(code, old_program.code))
            continue;
        TRY(check_reloadable(old_program.code));
        TRY(swap(cgroup, attached, old_program.fd, TRY(load_program(code))));
        changed = true;
    }
    return changed;
}

// ENOENT: another process has replaced the program since it was read.
Result<bool> rewrite_programs(const UniqueFd& cgroup, const Rewrite& rewrite) {
    bool changed = false;
    for (int i = 1;; ++i) {
        const auto done = rewrite_once(cgroup, rewrite);
        if (done)
            return *done || changed;
        if (done.error().sys != ENOENT || i == kMostTries)
            return done.error();
        changed = true;
    }
}

// Returns the cgroups whose programs belong to this container, innermost first.
Result<std::vector<std::string>> own_cgroups(const ProcessToken& init) {
    const std::string path = TRY(cgroup_of(std::to_string(init.pid)));
    const std::string ours = TRY(cgroup_of("self"));
    if (is_same_or_above(path, ours))
        return make_error(Code::Unsupported,
                          "the container has no cgroup of its own, so that its devices are those "
                          "of the engine")
            .advise("give it one: config.json's linux.cgroupsPath, no --cgroups=disabled");
    return own_cgroups_of(path, ours);
}

base::Error gone(const ProcessToken& init) {
    return make_error(Code::Unavailable, fmt::format("the container's init {} is gone", init.pid))
        .advise("start the container again");
}

class KernelDeviceCgroups : public DeviceCgroups {
  public:
    Result<> check() override {
        if (const auto tree = CgroupTree::host(); !tree)
            return make_error(
                       Code::Unsupported,
                       "this host does not use cgroup v2, which plain hooks and `rdmactl attach` "
                       "need")
                .advise(
                    "boot with systemd.unified_cgroup_hierarchy=1, or start the container by "
                    "Podman or by Docker with --runtime=rdma, which do not need it");
        return {};
    }

    Result<bool> allow(const ProcessToken& init, DeviceNumber device) override {
        TRY(check());
        const auto wider = [&](const BpfCode& code) { return with_device(code, device); };
        return rewrite_own(init, wider);
    }

    Result<> forbid(const ProcessToken& init, DeviceNumber device) override {
        const auto narrower = [&](const BpfCode& code) { return without_device(code, device); };
        auto done = TRY(KernelProcesses{}.token(init.pid)) == init ? rewrite_own(init, narrower)
                                                                   : Result<bool>{false};
        if (!done && done.error().code != Code::Unavailable)
            return std::move(done).error();
        return {};
    }

    Result<bool> contains(const ProcessToken& init, pid_t process) override {
        const auto cgroups = TRY(own_cgroups(init));
        const auto path = cgroup_of(std::to_string(process));
        if (TRY(KernelProcesses{}.token(init.pid)) != init)
            return gone(init);
        if (!path && path.error().code == Code::Unavailable)
            return false;
        return is_same_or_above(cgroups.back(), TRY(path));
    }

  private:
    static Result<bool> rewrite_own(const ProcessToken& init, const Rewrite& rewrite) {
        const auto cgroups = TRY(own_cgroups(init));
        const CgroupTree tree = TRY(CgroupTree::host());
        std::vector<UniqueFd> folders;
        for (const std::string& path : cgroups)
            folders.push_back(TRY(tree.open(path)));
        // This check proves that the answer was about this process.
        if (TRY(KernelProcesses{}.token(init.pid)) != init)
            return gone(init);
        bool changed = false;
        for (size_t i = 0; i < folders.size(); ++i) {
            const bool one = TRY(rewrite_programs(folders[i], rewrite)
                                     .context("cgroup " + base::printable(cgroups[i])));
            changed = changed || one;
        }
        return changed;
    }
};
}  // namespace

std::unique_ptr<DeviceCgroups> make_kernel_device_cgroups() {
    return std::make_unique<KernelDeviceCgroups>();
}

}  // namespace netns
