// SPDX-License-Identifier: Apache-2.0
#include "netns/char_nodes.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace netns {

namespace {
constexpr char kDevices[] = "/proc/devices";
constexpr size_t kDevicesLimit = 64U << 10U;
// The prefix of infiniband_verbs, infiniband_mad, and infiniband_cm of old kernels.
constexpr std::string_view kRdmaNames = "infiniband";

// Reads a line such as "231 infiniband_verbs", with spaces in front.
std::optional<uint32_t> rdma_major(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    uint32_t major = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), major);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    if (error != std::errc{} || !line.starts_with(' ') || !line.substr(1).starts_with(kRdmaNames))
        return std::nullopt;
    return major;
}
}  // namespace

std::vector<uint32_t> parse_rdma_majors(std::string_view devices) {
    std::set<uint32_t> majors;
    // Block devices follow, with majors of their own.
    devices = devices.substr(0, devices.find("Block devices:"));
    while (!devices.empty()) {
        const std::string_view line = devices.substr(0, devices.find('\n'));
        if (const auto major = rdma_major(line))
            majors.insert(*major);
        devices.remove_prefix(std::min(line.size() + 1, devices.size()));
    }
    return {majors.begin(), majors.end()};
}

Result<std::vector<uint32_t>> KernelCharNodes::rdma_majors() {
    const UniqueFd fd{::open(kDevices, O_RDONLY | O_CLOEXEC)};
    if (!fd)
        return sys_error(std::string("open ") + kDevices);
    return parse_rdma_majors(TRY(base::read_all(fd.get(), kDevicesLimit, kDevices)));
}

Result<std::optional<DeviceNumber>> KernelCharNodes::at(const std::string& path) {
    struct stat st {};

    if (::stat(path.c_str(), &st) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return std::optional<DeviceNumber>{};
        return sys_error("look at " + base::printable(path));
    }
    if (!S_ISCHR(st.st_mode))
        return std::optional<DeviceNumber>{};
    return std::optional<DeviceNumber>{{::major(st.st_rdev), ::minor(st.st_rdev)}};
}

}  // namespace netns
