// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/gid_table.h"

#include <cerrno>
#include <utility>

namespace netns {

namespace {
// More entries than any device has; rxe has 1024.
constexpr uint32_t kMaxGids = 65536;
constexpr uint32_t kUsableGids = 256;

struct GidTable {
    SysTree port;  // folder of the device's port 1
    SysTree gids;
};

Result<GidTable> enter_table(const SysTree& sys, const std::string& device) {
    std::optional<SysTree> port;
    if (!device.empty() && device.find('/') == std::string::npos)
        port = TRY(sys.enter("class/infiniband/" + device + "/ports/1"));
    auto gids = port ? TRY(port->enter("gids")) : std::nullopt;
    if (gids)
        return GidTable{*std::move(port), *std::move(gids)};
    return base::sys_error(ENOENT, "RDMA device " + base::printable(device) + " is not there")
        .as(base::Code::Unavailable);
}

// Returns the first slot in [low, high) that is not so, or `high`: where a run of such slots ends.
template <typename IsSo>
Result<uint32_t> end_of_run(uint32_t low, uint32_t high, const IsSo& is_so) {
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (TRY(is_so(middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// mlx5 registers a device without slots for raw packets.
base::Error no_roce(const std::string& device) {
    return base::make_error(base::Code::Unsupported,
                            "RDMA device " + base::printable(device) +
                                " has no GIDs: RoCE is switched off on its function")
        .advise(
            "switch it on: devlink dev param set pci/ADDRESS name enable_roce value true cmode "
            "driverinit, then devlink dev reload pci/ADDRESS (of a VF or SF with a devlink port: "
            "devlink port function set PORT roce enable)");
}

bool is_free(const std::string& text) {
    const auto gid = parse_gid(text);
    return !gid || *gid == Gid{};
}

// Returns a slot behind which the table is free, but for what churn has left there. The kernel
// fills the first free slot, so the newest entry is in front of it, or in a hole.
Result<uint32_t> end_of_used(const SysTree& gids) {
    const auto is_used = [&](uint32_t slot) -> Result<bool> {
        const auto text = TRY(gids.read(std::to_string(slot)));
        return text && !is_free(*text);
    };
    uint32_t low = 0;
    uint32_t high = 4;  // enough for a device of one container
    while (high < kMaxGids && TRY(is_used(high - 1)))
        low = std::exchange(high, high * 2);
    return end_of_run(low, high, is_used);
}

// Returns the slot's entry if it is the wanted one.
Result<std::optional<GidEntry>> match(const SysTree& port,
                                      const std::string& text,
                                      uint32_t index,
                                      const WantedGid& wanted) {
    if (parse_gid(text) != wanted.gid)
        return std::optional<GidEntry>{};
    // A GID may stand in two entries, as RoCE v1 and as v2.
    const std::string slot = std::to_string(index);
    if (TRY(port.read("gid_attrs/types/" + slot)) != "RoCE v2")
        return std::optional<GidEntry>{};
    const auto netdev = TRY(port.read("gid_attrs/ndevs/" + slot)).value_or("");
    if (!wanted.netdev.empty() && netdev != wanted.netdev)
        return std::optional<GidEntry>{};
    return std::optional<GidEntry>{{index, wanted.gid, GidType::RoceV2, netdev}};
}
}  // namespace

Result<std::optional<GidEntry>> find_gid_in(const SysTree& sys,
                                            const std::string& device,
                                            const WantedGid& wanted) {
    const auto [port, gids] = TRY(enter_table(sys, device));
    if (!TRY(gids.read("0")))
        return no_roce(device);
    // An adapter may have hundreds of entries. That of a container's interface is among the newest.
    const uint32_t end = wanted.netdev.empty() ? 0 : TRY(end_of_used(gids));
    for (uint32_t index = end; index > 0; --index) {
        const auto text = TRY(gids.read(std::to_string(index - 1)));
        auto found = text ? TRY(match(port, *text, index - 1, wanted)) : std::nullopt;
        if (found)
            return found;
    }
    for (uint32_t index = end; index < kMaxGids; ++index) {
        const auto text = TRY(gids.read(std::to_string(index)));
        if (!text)  // the table's end
            break;
        auto found = TRY(match(port, *text, index, wanted));
        if (found)
            return found;
    }
    return std::optional<GidEntry>{};
}

Result<GidSpace> gid_space_in(const SysTree& sys, const std::string& device, uint32_t enough) {
    const auto [port, gids] = TRY(enter_table(sys, device));
    GidSpace space;
    if (!TRY(gids.read("0")))
        return no_roce(device);
    if (enough == 0)
        return space;
    space.size = TRY(end_of_run(0, kUsableGids, [&](uint32_t slot) -> Result<bool> {
        return TRY(gids.read(std::to_string(slot))).has_value();
    }));
    for (uint32_t index = space.size; index > 0 && space.free < enough; --index) {
        const auto text = TRY(gids.read(std::to_string(index - 1)));
        if (text && is_free(*text))
            ++space.free;
    }
    // The default GIDs are first, one for each version of RoCE.
    for (const char* slot : {"gid_attrs/types/0", "gid_attrs/types/1"}) {
        if (TRY(port.read(slot)) == "IB/RoCE v1")
            space.per_address = 2;
    }
    return space;
}

}  // namespace netns
