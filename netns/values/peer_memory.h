// SPDX-License-Identifier: Apache-2.0
// Where a kernel says that RDMA reaches a GPU's memory.
#pragma once

namespace netns {

// Peer memory of ib_core, which MLNX_OFED and DOCA add: one of these is there.
inline constexpr const char* kNvidiaPeerMemory[] = {
    "/sys/module/nvidia_peermem", "/sys/module/nv_peer_mem", "/sys/kernel/mm/memory_peers/nv_mem"};
inline constexpr const char* kAmdPeerMemory = "/sys/kernel/mm/memory_peers/amdkfd";

// NVIDIA's open kernel modules, which say so in this file, export dma-bufs; the others do not.
inline constexpr const char* kNvidiaVersion = "/proc/driver/nvidia/version";
inline constexpr const char* kNvidiaDmaBuf = "Open Kernel Module";

}  // namespace netns
