// SPDX-License-Identifier: Apache-2.0
// The marks (external_ids) of rdma-hook's rows in Open vSwitch's database. The database outlives
// boots and journals. Marks show that a port is rdma-hook's, and that it was left behind.
#pragma once

#include <string>

#include "netns/ovs.h"

namespace hook {

inline constexpr char kOwnerMark[] = "owner";
inline constexpr char kOwner[] = "rdma-hook";
inline constexpr char kAttachmentMark[] = "rdma-hook-attachment";  // AKEY
inline constexpr char kContainerMark[] = "rdma-hook-container";    // id
inline constexpr char kBootMark[] = "rdma-hook-boot";

// Returns the value of a mark or a setting; `missing` where there is none.
inline std::string value_of(const netns::OvsMap& map,
                            const std::string& key,
                            const std::string& missing = {}) {
    const auto found = map.find(key);
    return found == map.end() ? missing : found->second;
}

// Returns the marks of all of rdma-hook's rows.
inline netns::OvsMap owner_marks() {
    return {{kOwnerMark, kOwner}};
}

// Returns the marks of an attachment's port.
inline netns::OvsMap attachment_marks(const std::string& akey) {
    return {{kOwnerMark, kOwner}, {kAttachmentMark, akey}};
}

// Returns the marks of this port. They do not fit a port of another boot for an attachment of the
// same key.
inline netns::OvsMap marks_of(const netns::OvsPort& port) {
    netns::OvsMap marks = attachment_marks(value_of(port.marks, kAttachmentMark));
    if (const std::string boot = value_of(port.marks, kBootMark); !boot.empty())
        marks[kBootMark] = boot;
    return marks;
}

}  // namespace hook
