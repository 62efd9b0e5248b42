// SPDX-License-Identifier: Apache-2.0
// CharNodes looks up character devices by number: the major numbers of RDMA's devices, and the
// device that a path of the host leads to. Read only.
//
// Facts about kernels:
// - uverbs, umad and issm have the major 231 for the first 32 devices of a kind. Devices beyond
//   have a major that the kernel gives out, one for each kind (IB_UVERBS_NUM_DYNAMIC_MINOR).
//   /proc/devices names it.
// - The kernel gives it out when the module is loaded. Before that there are no such devices,
//   either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/names.h"

namespace netns {

struct DeviceNumber {
    uint32_t major = 0;
    uint32_t minor = 0;
    bool operator==(const DeviceNumber&) const = default;
};

class CharNodes {
  public:
    virtual ~CharNodes() = default;

    // Returns the major numbers of RDMA devices, ascending; none if no module with such devices is
    // loaded.
    virtual Result<std::vector<uint32_t>> rdma_majors() = 0;
    // Returns the number of the character device at the host's path, following links; nothing if
    // there is none.
    virtual Result<std::optional<DeviceNumber>> at(const std::string& path) = 0;
};

class KernelCharNodes : public CharNodes {
  public:
    Result<std::vector<uint32_t>> rdma_majors() override;
    Result<std::optional<DeviceNumber>> at(const std::string& path) override;
};

// Returns the same majors, from the text of /proc/devices.
std::vector<uint32_t> parse_rdma_majors(std::string_view devices);

}  // namespace netns
