// SPDX-License-Identifier: Apache-2.0
#include "netns/gid_table.h"

#include <cerrno>

namespace netns {

namespace {
// More entries than any device has; rxe has 1024.
constexpr uint32_t kMaxGids = 65536;
}  // namespace

Result<std::optional<GidEntry>> find_gid_in(const SysTree& sys,
                                            const std::string& device,
                                            const Gid& gid) {
    std::optional<SysTree> port;
    if (!device.empty() && device.find('/') == std::string::npos)
        port = TRY(sys.enter("class/infiniband/" + device + "/ports/1"));
    const auto gids = port ? TRY(port->enter("gids")) : std::nullopt;
    if (!gids) {
        base::Error error =
            base::sys_error(ENOENT, "RDMA device " + base::printable(device) + " is not there");
        error.code = base::Code::Unavailable;
        return error;
    }
    for (uint32_t index = 0; index < kMaxGids; ++index) {
        const std::string slot = std::to_string(index);
        const auto text = TRY(gids->read(slot));
        if (!text)  // the table's end
            break;
        if (parse_gid(*text) != gid)
            continue;
        // A GID may be there twice, as RoCE v1 and as v2.
        if (TRY(port->read("gid_attrs/types/" + slot)) != "RoCE v2")
            continue;
        const auto netdev = TRY(port->read("gid_attrs/ndevs/" + slot));
        return std::optional<GidEntry>{{index, gid, GidType::RoceV2, netdev.value_or("")}};
    }
    return std::optional<GidEntry>{};
}

}  // namespace netns
