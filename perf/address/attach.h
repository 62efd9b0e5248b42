// SPDX-License-Identifier: Apache-2.0
// What rdma-hook tells a container about its RDMA device: /run/rdma/attach.json and the environment
// variables RDMA_DEVICE and RDMA_GID. Input from outside: bounded, strict, and never believed
// beyond a value that the kernel's GID table confirms (indexes move, values do not).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perf/address/gid.h"
#include "perf/base/names.h"

namespace perf {

inline constexpr std::string_view kAttachFile = "/run/rdma/attach.json";

struct Attachment {
    std::vector<AttachedGid> gids;     // by attachment index
    std::string preferred_device;      // RDMA_DEVICE
    std::vector<std::string> remarks;  // what was not believed, for --explain-gid
};

// The content of attach.json, format 1. Code::BadInput if it is not that.
Result<std::vector<AttachedGid>> parse_attach_file(std::string_view text);

// File and environment together; a missing file is usual, a broken one a remark. `device` and `gid`
// are the values of RDMA_DEVICE and RDMA_GID, empty if unset.
Attachment load_attachment(const std::string& file, std::string_view device, std::string_view gid);

}  // namespace perf
