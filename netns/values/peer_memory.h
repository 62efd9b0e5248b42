// SPDX-License-Identifier: Apache-2.0
// How RDMA reaches a GPU's memory without the host's, by what a kernel and its files say.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "netns/base/findings.h"

namespace netns {

using Version = std::pair<unsigned, unsigned>;

// Returns {7, 3} for "7.3.4+deb13-amd64", and zeros for any other text.
Version version_of(std::string_view release);

// NVIDIA's kernel modules say in this file whether they are the open ones.
inline constexpr const char* kNvidiaVersion = "/proc/driver/nvidia/version";

struct GpuHost {
    Version kernel;
    std::string nvidia_version;  // the file's text; empty: there is no such file
    std::function<bool(const char* path)> exists;
};

// Looks at the GPUs of a driver, such as "nvidia" and "amdgpu". Warning: there is no way.
base::Finding look_at_gpu(const GpuHost& host, const std::string& driver);

}  // namespace netns
