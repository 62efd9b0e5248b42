// SPDX-License-Identifier: Apache-2.0
// The device rules of config.json (linux.resources.devices). Runtimes walk the list in order, each
// rule overriding the earlier ones, so the last rule that speaks of a device decides.
#pragma once

#include <cstdint>
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

// Whether the last rule for all character devices lets them be read and written.
bool allows_all_devices(const base::Json* rules);

}  // namespace oci
