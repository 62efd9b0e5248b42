// SPDX-License-Identifier: Apache-2.0
// The device rules of config.json (linux.resources.devices). Runtimes walk the list in order, each
// rule overriding the earlier ones, so the last rule that speaks of a device decides.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "netns/base/json.h"

namespace oci {

// Whether the kernel gives this major out as it likes: 234 to 254, then 384 to 511
// (__register_chrdev_region). What is no major at all counts as one.
bool is_dynamic_major(uint32_t major);

// Whether it is RDMA's: 231 (uverbs, umad, issm), or one of these.
bool is_rdma_major(uint32_t major, const std::vector<uint32_t>& more);

// Whether the rules let `c major:minor` be read and written. No rule: no.
bool allows_device(const base::Json* rules, int64_t major, int64_t minor);

// The numbers that a rule speaks of; nothing: any.
struct DeviceRange {
    std::optional<uint32_t> major{};
    std::optional<uint32_t> minor{};
    auto operator<=>(const DeviceRange&) const = default;
};

// What of RDMA's devices the rules let be opened, each range once: reading or writing is enough,
// and no later rule takes it back. Rules about making nodes open nothing.
std::set<DeviceRange> opened_rdma(const base::Json* rules, const std::vector<uint32_t>& majors);

// Whether a rule lets devices be opened whose major the kernel gives out as it likes, or any.
bool opens_dynamic_majors(const base::Json* rules);

// Whether the last rule for all character devices lets them be read and written; nothing: none is.
// Then it is the runtime that decides (crun restricts nobody who has no rule, runc does).
std::optional<bool> allows_all_devices(const base::Json* rules);

}  // namespace oci
