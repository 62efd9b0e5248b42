// SPDX-License-Identifier: Apache-2.0
// Counters of a port by netlink, as `rdma statistic show link` has them. In a network namespace
// other than the first, sysfs shows a device of RDMA's shared mode without its counters (the kernel
// makes such an entry of GIDs and port state only: ib_core's "compat" devices, since 5.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace perf {

using Statistics = std::map<std::string, uint64_t>;

// Empty: this kernel or namespace has no such device, or its driver counts nothing.
Statistics port_statistics(const std::string& device, uint8_t port);

// What follows the header of a netlink message of nldev; lengths that are wrong end it.
Statistics parse_statistics(std::span<const std::byte> payload);
// The index of the device that the message describes, if it is this one.
std::optional<uint32_t> parse_index(std::span<const std::byte> payload, const std::string& device);

}  // namespace perf
