// SPDX-License-Identifier: Apache-2.0
#include "netns/values/peer_memory.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace netns {

namespace {
// Peer memory of ib_core, which MLNX_OFED and DOCA add: one of these is there.
constexpr const char* kNvidiaPeerMemory[] = {
    "/sys/module/nvidia_peermem", "/sys/module/nv_peer_mem", "/sys/kernel/mm/memory_peers/nv_mem"};
constexpr const char* kAmdPeerMemory = "/sys/kernel/mm/memory_peers/amdkfd";

// Since then drivers/infiniband/core/umem_dmabuf.c takes dma-bufs. NVIDIA's open kernel modules
// export them; the others do not.
constexpr Version kDmaBuf{5, 12};
constexpr std::string_view kNvidiaDmaBuf = "Open Kernel Module";
}  // namespace

Version version_of(std::string_view release) {
    unsigned major = 0;
    unsigned minor = 0;
    const char* end = release.data() + release.size();
    const auto first = std::from_chars(release.data(), end, major);
    if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '.')
        std::from_chars(first.ptr + 1, end, minor);
    return {major, minor};
}

base::Finding look_at_gpu(const GpuHost& host, const std::string& driver) {
    const bool has_dma_buf = host.kernel >= kDmaBuf;
    if (driver == "nvidia") {
        const auto* peer = std::ranges::find_if(kNvidiaPeerMemory, host.exists);
        if (peer != std::end(kNvidiaPeerMemory))
            return {.why = "nvidia: " + std::string(*peer) + " is there"};
        if (has_dma_buf && host.nvidia_version.find(kNvidiaDmaBuf) != std::string::npos)
            return {.why = "nvidia: dma-buf, by the open kernel modules"};
        return {.status = base::Status::Warning,
                .why =
                    "nvidia: neither nvidia_peermem, nor dma-buf (Linux 5.12 and NVIDIA's open "
                    "kernel modules)",
                .fix =
                    "modprobe nvidia_peermem (with MLNX_OFED or DOCA), or install the open "
                    "kernel modules"};
    }
    if (driver == "amdgpu" && host.exists(kAmdPeerMemory))
        return {.why = "amdgpu: peer memory of amdkfd is there"};
    if (has_dma_buf)
        return {.why = driver + ": dma-buf"};
    return {.status = base::Status::Warning,
            .why = driver + ": dma-buf needs Linux 5.12",
            .fix = "install a newer kernel"};
}

}  // namespace netns
