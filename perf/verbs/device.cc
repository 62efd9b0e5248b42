// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/device.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>

#include "perf/system/reading.h"
#include "perf/verbs/cm/connection.h"
#include "perf/verbs/limit.h"

namespace perf {

// ---- the choice ---------------------------------------------------------------------------------
namespace {
constexpr unsigned kMostPorts = 254;

// Fills in device and port if the interface is IPoIB's.
void find_infiniband(const std::string& sysfs, LocalAddress& local) {
    const std::string netdev = sysfs + "/class/net/" + local.netdev;
    if (read_line(netdev + "/type") != std::to_string(ARPHRD_INFINIBAND))
        return;
    const auto devices = read_names(netdev + "/device/infiniband");
    const auto port = number_of(read_line(netdev + "/dev_port").value_or(""));
    if (!devices || devices->size() != 1 || port.value_or(kMostPorts) >= kMostPorts)
        return;
    local.device = devices->front();
    local.port = static_cast<uint8_t>(*port + 1);
}

Result<LocalAddresses> local_addresses(const std::string& sysfs) {
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0)
        return sys_error("getifaddrs");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
    LocalAddresses out;
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        if (const auto address = from_sockaddr(entry->ifa_addr))
            find_infiniband(sysfs, out.emplace_back(LocalAddress{entry->ifa_name, *address}));
    }
    return out;
}

Result<GidTable> read_table(Verbs& verbs,
                            const std::string& name,
                            ibv_context* context,
                            const std::string& sysfs) {
    ibv_device_attr attr{};
    TRY(outcome_of(verbs.query_device(context, &attr), "query device " + name));
    std::vector<ibv_port_attr> ports(attr.phys_port_cnt);
    size_t most = 0;
    for (size_t i = 0; i < ports.size(); ++i) {
        TRY(outcome_of(verbs.query_port(context, static_cast<uint8_t>(i + 1), &ports[i]),
                       fmt::format("query port {} of {}", i + 1, name)));
        most += static_cast<size_t>(std::clamp(ports[i].gid_tbl_len, 0, 4096));
    }
    std::vector<ibv_gid_entry> entries(most + 1);  // without any room the kernel refuses
    const ssize_t count = verbs.query_gid_table(context, entries);
    if (count < 0)
        return sys_error(static_cast<int>(-count), "read the GIDs of " + name);
    entries.resize(static_cast<size_t>(count));
    GidTable rows;
    for (const ibv_gid_entry& entry : entries) {
        // Masked ones answer ENOENT: not knowing is fine.
        const std::string netdev =
            printable(read_line(fmt::format("{}/class/infiniband/{}/ports/{}/gid_attrs/ndevs/{}",
                                            sysfs,
                                            name,
                                            entry.port_num,
                                            entry.gid_index))
                          .value_or(""),
                      IFNAMSIZ);
        rows.push_back({.device = name,
                        .port = static_cast<uint8_t>(entry.port_num),
                        .index = entry.gid_index,
                        .gid = std::bit_cast<Address>(entry.gid),
                        .type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? GidType::RoceV2
                                : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? GidType::RoceV1
                                                                         : GidType::InfiniBand,
                        .netdev = netdev,
                        .netdev_present = !netdev.empty() && ::if_nametoindex(netdev.c_str()) != 0,
                        .port_active = ports.at(entry.port_num - 1).state == IBV_PORT_ACTIVE});
    }
    return rows;
}
}  // namespace

bool Survey::holds(const Address& address) const {
    return std::ranges::find(addresses, address, &LocalAddress::address) != addresses.end();
}

Result<Survey> survey(Verbs& verbs, const std::string& only, const std::string& sysfs) {
    Survey out;
    out.addresses = TRY(local_addresses(sysfs));
    std::vector<std::string> names = TRY(verbs.device_names());
    std::ranges::sort(names);
    if (!only.empty())
        std::erase_if(names, [&](const std::string& name) { return name != only; });
    for (const std::string& name : names) {
        auto context = open_device(verbs, name);
        if (!context) {
            out.remarks.push_back(context.error().message());
            continue;
        }
        auto rows = read_table(verbs, name, context->get(), sysfs);
        if (rows)
            out.rows.insert(out.rows.end(), rows->begin(), rows->end());
        else
            out.remarks.push_back(rows.error().message());
    }
    return out;
}

std::string Candidates::way_out() const {
    if (tables.rows.empty())
        return "no RDMA device is usable here: is this container attached (rdma.mode), and its "
               "/dev/infiniband node there?";
    if (query.sources.empty())
        return "pass --device and --gid to choose by hand";
    return fmt::format(
        "run against an address of the RDMA network, or assign {} to the device's netdev, or pass "
        "--device and --gid",
        query.sources.front().text());
}

Result<Candidates> find_candidates(Verbs& verbs,
                                   const DeviceWish& wish,
                                   const Sources& sources,
                                   const std::string& sysfs) {
    const Attachment attachment = load_attachment(wish.attach_file, wish.env_device, wish.env_gid);
    Candidates out;
    out.tables = TRY(survey(verbs, wish.device, sysfs));
    out.query = {.sources = sources,
                 .attached = attachment.gids,
                 .device = wish.device,
                 .index = wish.gid_index,
                 .preferred_device = attachment.preferred_device,
                 .link_local_peer = wish.link_local_peer};
    out.choice = choose_gid(out.tables.rows, out.tables.addresses, out.query);
    std::ranges::copy(attachment.remarks, std::back_inserter(out.choice.remarks));
    std::ranges::copy(out.tables.remarks, std::back_inserter(out.choice.remarks));
    return out;
}

// ---- the device ---------------------------------------------------------------------------------
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
    device.software = is_software(device.attr);
    device.signals_all = device.attr.vendor_id == 0x1d0f;  // Amazon
    device.near = near_processors(row.device);
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
    device.info.near_processors = device.near ? static_cast<uint32_t>(CPU_COUNT(&*device.near)) : 0;
    device.info.grh = device.port.link_layer == IBV_LINK_LAYER_INFINIBAND &&
                      (device.port.flags & IBV_QPF_GRH_REQUIRED) != 0;
    // What rxe and siw report as their speed is the netdev's, a guess, or a constant: no limit.
    if (!device.software)
        device.info.link_bps =
            port_bps(device.port, device.port.link_layer == IBV_LINK_LAYER_ETHERNET);
    if (row.index > 255)  // ibv_global_route holds it in eight bits
        return make_error(
                   Code::Unsupported, "GID index {} of {} cannot be used", row.index, row.device)
            .advise("choose one below 256: rdma-perf gids");
    if (device.info.active_mtu == 0)
        return make_error(Code::Kernel, "the port of " + row.device + " has no path MTU");
    return device;
}

Error no_partition(const Device& device, const std::string& what) {
    const DeviceInfo& own = device.info;
    return make_error(Code::Unsupported, "port {} of {} {}", own.port, own.device, what)
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

PollPlace poll_place(const Device& device) {
    const auto set = device.near ? device.near : own_processors();
    // A machine with more processors than the set can hold has enough of them.
    return {.software = device.software,
            .processors = set ? static_cast<uint32_t>(CPU_COUNT(&*set)) : CPU_SETSIZE};
}

std::optional<cpu_set_t> near_processors(const std::string& device, const std::string& sysfs) {
    const std::string file =
        fmt::format("{}/class/infiniband/{}/device/local_cpulist", sysfs, device);
    auto near = parse_processors(read_line(file).value_or(""));
    const auto own = own_processors();
    if (!near || !own)
        return std::nullopt;
    CPU_AND(&*near, &*near, &*own);
    if (CPU_COUNT(&*near) == 0 || CPU_EQUAL(&*near, &*own))
        return std::nullopt;
    return near;
}

Result<Device> open_cm_device(Verbs& verbs, const CmDevice& found) {
    Device device = TRY(open_row(verbs, found));
    device.info.iwarp = found.iwarp;
    device.explanation = fmt::format("{}: rdma_cm has it for the address\n", found.device);
    return device;
}

Result<Device> open_best_device(Verbs& verbs, const DeviceWish& wish, const Sources& sources) {
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
    return make_error(Code::Kernel, "the RDMA device {} is gone", device.info.device)
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
    return make_error(Code::Unavailable, "port {} of {} is down", number, device.info.device)
        .advise(netdev.empty() ? "see `rdma link`" : "run: ip link set " + netdev + " up");
}

}  // namespace perf
