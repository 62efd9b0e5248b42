// SPDX-License-Identifier: Apache-2.0
// RDMA devices, their nodes and the entries of their GID tables, as values. netns/rdma.h finds and
// changes them.
#pragma once

#include <cstdint>
#include <string>

#include "netns/values/address.h"

namespace netns {

enum class RdmaNetnsMode { Shared, Exclusive };

struct RdmaDevice {
    uint32_t index = 0;  // RDMA_NLDEV_ATTR_DEV_INDEX: stable for the device's life, system-wide
    std::string name;
    uint64_t node_guid = 0;   // host order; as `rdma dev show` prints it
    bool iwarp = false;       // its port has one GID, of its MAC, and none of addresses
    bool infiniband = false;  // port 1 is InfiniBand: ib_ipoib makes its netdev, not the driver
    bool operator==(const RdmaDevice&) const = default;
};

// The state of a port that carries traffic, as sysfs spells it.
inline constexpr char kActivePort[] = "ACTIVE";

// A character device: /dev/infiniband/<name>.
struct CharDevice {
    std::string name;  // "uverbs0", "rdma_cm"
    uint32_t major = 0;
    uint32_t minor = 0;
    bool operator==(const CharDevice&) const = default;

    [[nodiscard]] std::string path() const { return "/dev/infiniband/" + name; }
};

enum class GidType { RoceV1, RoceV2, InfiniBand };

struct GidEntry {
    uint32_t index = 0;
    Gid gid;
    GidType type = GidType::RoceV2;
    std::string netdev;  // the netdev's name in its own namespace
};

}  // namespace netns
