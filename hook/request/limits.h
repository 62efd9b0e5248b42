// SPDX-License-Identifier: Apache-2.0
// Limits: how much of an RDMA device one container may open and make, by the rdma cgroup. They
// belong to the container and not to the attachment, which others may share with limits of their
// own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netns/base/json.h"
#include "netns/base/result.h"

namespace hook {

struct Limits {
    std::optional<uint32_t> handles;  // rdma.max_hca_handles
    std::optional<uint32_t> objects;  // rdma.max_hca_objects

    [[nodiscard]] bool any() const { return handles || objects; }

    bool operator==(const Limits&) const = default;
};

inline constexpr char kHandlesKey[] = "max_hca_handles";
inline constexpr char kObjectsKey[] = "max_hca_objects";
// The kernel counts to 2^31 - 2; nine digits are plenty and easier to say.
inline constexpr uint32_t kMaxLimit = 999999999;

// The smaller of both, member by member; what is not said does not limit.
Limits tightest(const Limits& a, const Limits& b);

// The members of those names in an object, each a whole number from 1 to kMaxLimit; BadConfig names
// the member ("policy.max_hca_objects").
base::Result<Limits> limits_from_json(const base::Json& object, const std::string& place);
base::Json to_json(const Limits& limits);

}  // namespace hook
