// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include "perf/base/names.h"
#include "perf/system/reading.h"
#include "perf/verbs/limit.h"

namespace perf {

namespace {
uint32_t reads(int value) {
    return static_cast<uint32_t>(std::clamp(value, 0, static_cast<int>(kMaxReads)));
}

Result<Device> open_row(Verbs& verbs, const GidRow& row) {
    Device device;
    device.verbs = &verbs;
    device.context = TRY(open_device(verbs, row.device));
    TRY(outcome_of(verbs.query_device(device.context.get(), &device.attr),
                   "query device " + row.device));
    TRY(outcome_of(verbs.query_port(device.context.get(), row.port, &device.port),
                   fmt::format("query port {} of {}", row.port, row.device)));
    device.pd = TRY(alloc_pd(verbs, device.context.get()));
    // Vendor ids that the kernel's software drivers report: rxe 0xffffff, siw 0x626d74.
    const uint32_t vendor = device.attr.vendor_id;
    device.software = vendor == 0xffffff || vendor == 0x626d74;
    device.signals_all = vendor == 0x1d0f;  // Amazon
    device.info = {.device = row.device,
                   .netdev = row.netdev,
                   .port = row.port,
                   .gid_index = row.index,
                   .gid = row.gid,
                   .gid_type = row.type,
                   .active_mtu = mtu_bytes(device.port.active_mtu),
                   .lid = device.port.lid,
                   .initiator_depth = reads(device.attr.max_qp_init_rd_atom),
                   .responder_depth = reads(device.attr.max_qp_rd_atom)};
    device.info.identity = identity_of(row.device, device.attr);
    device.info.grh = device.port.link_layer == IBV_LINK_LAYER_INFINIBAND &&
                      (device.port.flags & IBV_QPF_GRH_REQUIRED) != 0;
    // What rxe and siw report as their speed is the netdev's, a guess, or a constant: no limit.
    if (!device.software)
        device.info.link_bps =
            port_bps(device.port, device.port.link_layer == IBV_LINK_LAYER_ETHERNET);
    if (row.index > 255)  // ibv_global_route holds it in eight bits
        return make_error(Code::Unsupported,
                          fmt::format("GID index {} of {} cannot be used", row.index, row.device))
            .advise("choose one below 256: rdma-perf gids");
    if (device.info.active_mtu == 0)
        return make_error(Code::Kernel, "the port of " + row.device + " has no path MTU");
    return device;
}

Error no_partition(const Device& device, const std::string& what) {
    const DeviceInfo& own = device.info;
    return make_error(Code::Unsupported,
                      fmt::format("port {} of {} {}", own.port, own.device, what))
        .advise(fmt::format("see /sys/class/infiniband/{}/ports/{}/pkeys", own.device, own.port));
}
}  // namespace

Identity identity_of(const std::string& device,
                     const ibv_device_attr& attr,
                     const std::string& sysfs) {
    const std::string folder = fmt::format("{}/class/infiniband/{}/", sysfs, device);
    const auto line = [&](std::string_view name) {
        return read_line(folder + std::string(name)).value_or("");
    };
    Identity identity{
        .part = fmt::format("{:04x}:{:04x}", attr.vendor_id, attr.vendor_part_id),
        .board = line("board_id"),
        .firmware = printable({attr.fw_ver, ::strnlen(attr.fw_ver, sizeof attr.fw_ver)}, 64),
        .pcie = {},
        .numa_node = line("device/numa_node")};
    // A virtual function's link is its adapter's: "Unknown", with a width of 0.
    const std::string speed = line("device/current_link_speed");
    if (!speed.empty() && !speed.starts_with("Unknown"))
        identity.pcie = fmt::format("{} x{}", speed, line("device/current_link_width"));
    if (identity.numa_node == "-1")
        identity.numa_node.clear();
    return identity;
}

void place_buffers(Device& device, const Buffers& memory) {
    device.memory = memory;
    device.info.memory = memory->kind.word;
}

PollPlace poll_place(const Device& device) {
    cpu_set_t set;
    CPU_ZERO(&set);
    // A machine with more processors than the set can hold has enough of them.
    const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
    return {.software = device.software,
            .processors = known ? static_cast<uint32_t>(CPU_COUNT(&set)) : CPU_SETSIZE};
}

Result<Device> open_cm_device(Verbs& verbs, const CmDevice& found) {
    Device device = TRY(open_row(verbs,
                                 {.device = found.device,
                                  .port = found.port,
                                  .gid = found.gid,
                                  .type = GidType::InfiniBand,
                                  .netdev = ""}));
    device.info.iwarp = found.iwarp;
    device.explanation = fmt::format("{}: rdma_cm has it for the address\n", found.device);
    return device;
}

Result<Device> open_best_device(Verbs& verbs,
                                const DeviceWish& wish,
                                const std::vector<Address>& sources) {
    const Candidates candidates = TRY(find_candidates(verbs, wish, sources));
    std::string explanation = candidates.explanation();
    const GidRow* row = candidates.chosen();
    if (row == nullptr)
        return make_error(Code::Unsupported, "no GID leads to the peer\n" + explanation)
            .advise(candidates.way_out());
    Device device = TRY(open_row(verbs, *row));
    // A GID that was named by hand is meant to be in the packets.
    device.info.grh =
        device.info.grh || (wish.gid_index && device.port.link_layer == IBV_LINK_LAYER_INFINIBAND);
    device.explanation = std::move(explanation);
    device.note = candidates.choice.note;
    return device;
}

bool is_gone(const Device& device, std::chrono::milliseconds grace) noexcept {
    const auto deadline = Deadline::in(grace);
    for (;;) {
        ibv_event_type type{};
        while (device.verbs->take_async_event(device.context.get(), &type) == 0) {
            if (type == IBV_EVENT_DEVICE_FATAL)
                return true;
        }
        if (errno != EAGAIN)
            return true;
        pollfd event{.fd = device.context->async_fd, .events = POLLIN, .revents = 0};
        if (deadline.passed() || (::poll(&event, 1, deadline.left_ms()) < 0 && errno != EINTR))
            return false;
    }
}

Error gone_error(const Device& device) {
    return make_error(Code::Kernel, fmt::format("the RDMA device {} is gone", device.info.device))
        .advise("see `rdma link`: was it, its netdev or its network namespace removed?");
}

Result<uint16_t> partition_key(const Device& device, uint32_t index) {
    uint16_t key = 0;
    if (index < device.port.pkey_tbl_len &&
        device.verbs->query_pkey(
            device.context.get(), device.info.port, static_cast<int>(index), &key) == 0 &&
        key != 0)
        return key;
    return no_partition(device, fmt::format("has no partition key at index {}", index));
}

Result<uint32_t> partition_index(const Device& device, uint16_t key) {
    constexpr unsigned kPartition = 0x7fff;  // the top bit is full membership
    for (uint32_t index = 0; index < device.port.pkey_tbl_len; ++index) {
        const auto own = partition_key(device, index);
        if (own && (*own & kPartition) == (key & kPartition))
            return index;
    }
    return no_partition(device, fmt::format("is not in the partition {:#06x}", key));
}

std::optional<Error> port_error(const Device& device) {
    ibv_port_attr port{};
    const uint8_t number = device.info.port;
    if (device.verbs->query_port(device.context.get(), number, &port) != 0 ||
        port.state == IBV_PORT_ACTIVE)
        return std::nullopt;
    const std::string& netdev = device.info.netdev;
    return make_error(Code::Unavailable,
                      fmt::format("port {} of {} is down", number, device.info.device))
        .advise(netdev.empty() ? "see `rdma link`" : "run: ip link set " + netdev + " up");
}

}  // namespace perf
