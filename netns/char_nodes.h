// SPDX-License-Identifier: Apache-2.0
// Character devices by number: which numbers are RDMA's, and whose node a path of the host is. Read
// only.
//
// What this room knows of kernels, so that nobody else has to:
// - uverbs, umad and issm have the major 231 for the first 32 of a kind, and one each that the
//   kernel gives out for those beyond (IB_UVERBS_NUM_DYNAMIC_MINOR): /proc/devices names it.
// - It is given out when the module is loaded: before that there are no such devices, either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/result.h"

namespace netns {

using base::Result;

struct DeviceNumber {
    uint32_t major = 0;
    uint32_t minor = 0;
    bool operator==(const DeviceNumber&) const = default;
};

class CharNodes {
  public:
    virtual ~CharNodes() = default;

    // Ascending; none if no module of RDMA's with devices is loaded.
    virtual Result<std::vector<uint32_t>> rdma_majors() = 0;
    // The character device that the host has at the path, over links; nothing if there is none.
    virtual Result<std::optional<DeviceNumber>> at(const std::string& path) = 0;
};

class KernelCharNodes : public CharNodes {
  public:
    Result<std::vector<uint32_t>> rdma_majors() override;
    Result<std::optional<DeviceNumber>> at(const std::string& path) override;
};

// Of the text of /proc/devices.
std::vector<uint32_t> parse_rdma_majors(std::string_view devices);

}  // namespace netns
