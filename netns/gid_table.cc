// SPDX-License-Identifier: Apache-2.0
#include "netns/gid_table.h"

#include <algorithm>
#include <cerrno>

namespace netns {

namespace {
// More entries than any device has; rxe has 1024.
constexpr uint32_t kMaxGids = 65536;
constexpr uint32_t kUsableGids = 256;

// The folder of the device's port 1.
Result<SysTree> enter_port(const SysTree& sys, const std::string& device) {
    std::optional<SysTree> port;
    if (!device.empty() && device.find('/') == std::string::npos)
        port = TRY(sys.enter("class/infiniband/" + device + "/ports/1"));
    if (port && TRY(port->enter("gids")))
        return *std::move(port);
    base::Error error =
        base::sys_error(ENOENT, "RDMA device " + base::printable(device) + " is not there");
    error.code = base::Code::Unavailable;
    return error;
}

Result<bool> has_slot(const SysTree& gids, uint32_t index) {
    return TRY(gids.read(std::to_string(index))).has_value();
}

// The number of slots: the first that is not there.
Result<uint32_t> table_size(const SysTree& gids) {
    uint32_t high = 1;
    while (high < kMaxGids && TRY(has_slot(gids, high)))
        high *= 2;
    uint32_t low = high / 2;  // is there, or the table is empty
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (TRY(has_slot(gids, middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool is_free(const std::string& text) {
    const auto gid = parse_gid(text);
    return !gid || *gid == Gid{};
}
}  // namespace

Result<std::optional<GidEntry>> find_gid_in(const SysTree& sys,
                                            const std::string& device,
                                            const WantedGid& wanted) {
    const SysTree port = TRY(enter_port(sys, device));
    const SysTree gids = *TRY(port.enter("gids"));
    for (uint32_t index = 0; index < kMaxGids; ++index) {
        const std::string slot = std::to_string(index);
        const auto text = TRY(gids.read(slot));
        if (!text)  // the table's end
            break;
        if (parse_gid(*text) != wanted.gid)
            continue;
        // A GID may be there twice, as RoCE v1 and as v2.
        if (TRY(port.read("gid_attrs/types/" + slot)) != "RoCE v2")
            continue;
        const auto netdev = TRY(port.read("gid_attrs/ndevs/" + slot)).value_or("");
        if (!wanted.netdev.empty() && netdev != wanted.netdev)
            continue;
        return std::optional<GidEntry>{{index, wanted.gid, GidType::RoceV2, netdev}};
    }
    return std::optional<GidEntry>{};
}

Result<GidSpace> gid_space_in(const SysTree& sys, const std::string& device, uint32_t enough) {
    const SysTree port = TRY(enter_port(sys, device));
    const SysTree gids = *TRY(port.enter("gids"));
    GidSpace space;
    space.size = std::min(TRY(table_size(gids)), kUsableGids);
    for (uint32_t index = space.size; index > 0 && space.free < enough; --index) {
        const auto text = TRY(gids.read(std::to_string(index - 1)));
        if (text && is_free(*text))
            ++space.free;
    }
    // The default GIDs stand first, one for each version of RoCE.
    for (const char* slot : {"gid_attrs/types/0", "gid_attrs/types/1"}) {
        if (TRY(port.read(slot)) == "IB/RoCE v1")
            space.per_address = 2;
    }
    return space;
}

}  // namespace netns
