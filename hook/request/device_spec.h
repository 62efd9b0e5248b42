// SPDX-License-Identifier: Apache-2.0
// Device specs: the spelling of rdma.device and of the lists of devices in the configuration. Pure.
//
//   0000:3b:00.0      a PF, or a VF, by its PCI address
//   auxiliary/mlx5_core.sf.4   a function of another bus, as devlink names it
//   enp1s0, mlx5_0    the same by the name of its netdev or RDMA device
//   enp1s0#0-3,5      of a PF: these VFs only; numbers ascend
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hook {

struct VfRange {
    uint32_t first = 0;
    uint32_t last = 0;  // included
    bool operator==(const VfRange&) const = default;
};

struct DeviceSpec {
    std::string device;        // PCI address or name
    std::vector<VfRange> vfs;  // ascending, apart; empty: all of a PF, or the VF itself
    bool operator==(const DeviceSpec&) const = default;
};

inline constexpr uint32_t kMaxVf = 65535;  // sriov_totalvfs is 16 bits wide

// One spelling in, the same out.
std::optional<DeviceSpec> parse_device_spec(std::string_view text);
std::string to_string(const DeviceSpec& spec);

// Whether the spec speaks of this VF number.
bool has_number(const DeviceSpec& spec, uint32_t number);
// Whether all that `inner` names is named by one of `outer`. By spelling: what a name means on the
// host is not looked at.
bool lies_inside(const DeviceSpec& inner, const std::vector<DeviceSpec>& outer);

}  // namespace hook
