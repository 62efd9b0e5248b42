// SPDX-License-Identifier: Apache-2.0
// The device rules of config.json (linux.resources.devices). Runtimes walk the list in order, and
// each rule overrides the earlier ones. So the last rule about a device decides.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "netns/base/json_fwd.h"

namespace oci {

// Returns whether the kernel gives this major out dynamically: 234 to 254, then 384 to 511
// (__register_chrdev_region). A number that is no major counts as one.
bool is_dynamic_major(uint32_t major);

// Returns whether it is a major of RDMA: 231 (uverbs, umad, issm), or one of `more`.
bool is_rdma_major(uint32_t major, const std::vector<uint32_t>& more);

// Returns whether the rules allow reading and writing `c major:minor`. No rule: no.
bool allows_device(const base::Json* rules, int64_t major, int64_t minor);

// The numbers that a rule is about; an empty member means any.
struct DeviceRange {
    std::optional<uint32_t> major{};
    std::optional<uint32_t> minor{};
    auto operator<=>(const DeviceRange&) const = default;
};

// Returns the ranges of RDMA devices that the rules let be opened, each once. Access to read or to
// write is enough, unless a later rule denies it. Rules about making nodes open nothing.
std::set<DeviceRange> opened_rdma(const base::Json* rules, const std::vector<uint32_t>& majors);

// Returns whether a rule lets devices with dynamic majors, or with any major, be opened.
bool opens_dynamic_majors(const base::Json* rules);

// Returns whether the last rule for all character devices lets them be read and written; nothing if
// there is no such rule. Then the runtime decides (without a rule crun restricts nothing, runc
// does).
std::optional<bool> allows_all_devices(const base::Json* rules);

}  // namespace oci
