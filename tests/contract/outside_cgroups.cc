// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/outside_cgroups.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/contract/outside.h"

namespace test {

namespace {
constexpr char kOurs[] = "/sys/fs/cgroup/cgroup.procs";
}

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
    remove_test_cgroups();  // left by a test that died
    if (::mkdir(kTestSlice, 0755) != 0)
        return std::string("no cgroup can be made: ") + std::strerror(errno);
    remove_test_cgroups();
    return {};
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
