// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/outside_cgroups.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/contract/outside.h"

namespace test {

namespace {
constexpr char kOurs[] = "/sys/fs/cgroup/cgroup.procs";

// Returns why the cgroups of the tests cannot be made; empty if they can.
std::string unmakeable() {
    remove_test_cgroups();  // left by a test that died
    if (::mkdir(kTestSlice, 0755) != 0)
        return std::string("no cgroup can be made: ") + std::strerror(errno);
    remove_test_cgroups();
    return {};
}

// A program that denies every device.
base::UniqueFd load_denial() {
    static constexpr std::array<bpf_insn, 2> kCode = {
        bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K,
                 .dst_reg = BPF_REG_0,
                 .src_reg = 0,
                 .off = 0,
                 .imm = 0},
        bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    static constexpr char kLicense[] = "GPL";
    bpf_attr attr{};
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.insns = reinterpret_cast<__u64>(kCode.data());    // NOLINT: as bpf(2) takes pointers
    attr.license = reinterpret_cast<__u64>(&kLicense[0]);  // NOLINT: as bpf(2) takes pointers
    attr.insn_cnt = kCode.size();
    return base::UniqueFd{static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr))};
}
}  // namespace

void remove_test_cgroups() {
    // A process that was waited for leaves its cgroup a moment later (EBUSY).
    constexpr int kMostTries = 1000;
    for (const char* folder : {kTestBox, kTestSlice}) {
        for (int i = 0; i < kMostTries && ::rmdir(folder) != 0 && errno == EBUSY; ++i)
            ::usleep(1000);
    }
}

bool write_cgroup(const std::string& file, const std::string& text) {
    const base::UniqueFd fd{::open(file.c_str(), O_WRONLY | O_CLOEXEC)};
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string KernelOutside::cgroup_missing() {
    if (!missing().empty())
        return missing();
    if (const auto can = netns::make_kernel_cgroups()->check_rdma(); !can)
        return can.error().message();
    return unmakeable();
}

std::string KernelOutside::device_cgroup_missing() {
    if (!missing().empty())
        return missing();
    if (const auto can = netns::make_kernel_device_cgroups()->check(); !can)
        return can.error().message();
    if (std::string reason = unmakeable(); !reason.empty())
        return reason;
    return load_denial() ? ""
                         : std::string("no BPF program can be loaded: ") + std::strerror(errno);
}

void KernelOutside::deny_devices() {
    const base::UniqueFd cgroup{::open(kTestBox, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const base::UniqueFd program = load_denial();
    bpf_attr attr{};
    attr.target_fd = static_cast<__u32>(cgroup.get());
    attr.attach_bpf_fd = static_cast<__u32>(program.get());
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = BPF_F_ALLOW_MULTI;
    if (::syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof attr) != 0)
        std::abort();
}

bool KernelOutside::can_open(netns::DeviceNumber device) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!write_cgroup(std::string(kTestBox) + "/cgroup.procs", "0"))
            ::_exit(2);
        ::_exit(::open(device.minor == 5 ? "/dev/zero" : "/dev/full", O_RDWR | O_CLOEXEC) < 0);
    }
    int status = -1;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 1)
        std::abort();
    return WEXITSTATUS(status) == 0;
}

void KernelOutside::set_own_cgroup(bool own) {
    if (own && ((::mkdir(kTestSlice, 0755) != 0 && errno != EEXIST) ||
                (::mkdir(kTestBox, 0755) != 0 && errno != EEXIST)))
        std::abort();
    if (!write_cgroup(own ? std::string(kTestBox) + "/cgroup.procs" : kOurs, std::to_string(pid_)))
        std::abort();
}

std::string KernelOutside::rdma_max(const std::string& device) {
    std::ifstream file(std::string(kTestBox) + "/rdma.max");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(device + " "))
            continue;
        line.erase(0, device.size() + 1);
        while (line.ends_with(' '))
            line.pop_back();
        return line;
    }
    return {};
}

}  // namespace test
