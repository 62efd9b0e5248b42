// SPDX-License-Identifier: Apache-2.0
#include "perf/system/platform.h"

#include <algorithm>
#include <utility>

#include "perf/system/reading.h"

namespace perf {

std::string cpu_of(std::string_view cpuinfo) {
    if (auto model = value_after(cpuinfo, "model name\t:"))
        return std::move(*model);
    const auto part = value_after(cpuinfo, "CPU part\t:");
    return part ? value_after(cpuinfo, "CPU implementer\t:").value_or("?") + ":" + *part : "";
}

std::string rdma_core_of(std::string_view maps) {
    constexpr std::string_view kLibrary = "/libibverbs.so.";
    const size_t found = maps.find(kLibrary);
    if (found == std::string_view::npos)
        return "";
    std::string_view version = maps.substr(found + kLibrary.size());
    version = version.substr(0, version.find_first_not_of("0123456789."));
    for (int i = 0; i < 2; ++i)
        version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
    return std::string(version);
}

Platform own_platform(const std::string& root) {
    return {
        .cpu = cpu_of(read_start(root + "/proc/cpuinfo").value_or("")),
        .governor =
            read_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").value_or(""),
        .rdma_core = rdma_core_of(read_small(root + "/proc/self/maps").value_or(""))};
}

}  // namespace perf
