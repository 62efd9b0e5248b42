// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>

#include "perf/system/reading.h"
#include "perf/verbs/device.h"

namespace perf {

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

Result<std::vector<LocalAddress>> local_addresses(const std::string& sysfs) {
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0)
        return sys_error("getifaddrs");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
    std::vector<LocalAddress> out;
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        if (const auto address = from_sockaddr(entry->ifa_addr))
            find_infiniband(sysfs, out.emplace_back(LocalAddress{entry->ifa_name, *address}));
    }
    return out;
}

// Reads the tables of one device.
struct DeviceReader {
    Verbs& verbs;
    const std::string& name;
    ibv_context* context;
    const std::string& sysfs;
    std::vector<GidRow> rows = {};

    Result<std::vector<GidRow>> read() {
        ibv_device_attr attr{};
        TRY(outcome_of(verbs.query_device(context, &attr), "query device " + name));
        for (uint8_t port = 1; port <= attr.phys_port_cnt && port != 0; ++port)
            TRY(read_port(port));
        return std::move(rows);
    }

    Result<> read_port(uint8_t port) {
        ibv_port_attr attr{};
        TRY(outcome_of(verbs.query_port(context, port, &attr),
                       fmt::format("query port {} of {}", port, name)));
        const auto entries = static_cast<uint32_t>(std::clamp(attr.gid_tbl_len, 0, 4096));
        const bool active = attr.state == IBV_PORT_ACTIVE;
        if (!read_table(port, entries, active))
            read_each(port, entries, attr);
        return {};
    }

    // One call gives the entries of all ports, without the empty ones.
    bool read_table(uint8_t port, uint32_t entries, bool active) {
        std::vector<ibv_gid_entry> table(size_t{entries} * 8 + 1);
        const ssize_t count = verbs.query_gid_table(context, table);
        if (count < 0)
            return false;
        table.resize(static_cast<size_t>(count));
        for (const ibv_gid_entry& entry : table) {
            if (entry.port_num == port)
                add(port, entry.gid_index, address_of(entry.gid), type_of(entry.gid_type), active);
        }
        return true;
    }

    void read_each(uint8_t port, uint32_t entries, const ibv_port_attr& attr) {
        for (uint32_t i = 0; i < entries; ++i) {
            ibv_gid gid{};
            if (verbs.query_gid(context, port, static_cast<int>(i), &gid) != 0)
                continue;
            const Address address = address_of(gid);
            if (address.is_zero())
                continue;
            GidType type = GidType::InfiniBand;
            if (attr.link_layer == IBV_LINK_LAYER_ETHERNET)
                type = attribute(port, "types", i) == "RoCE v2" ? GidType::RoceV2 : GidType::RoceV1;
            add(port, i, address, type, attr.state == IBV_PORT_ACTIVE);
        }
    }

    static Address address_of(const ibv_gid& gid) {
        Address address;
        std::memcpy(address.bytes.data(), gid.raw, address.bytes.size());
        return address;
    }

    void add(uint8_t port, uint32_t index, const Address& gid, GidType type, bool active) {
        const std::string netdev = printable(attribute(port, "ndevs", index), IFNAMSIZ);
        rows.push_back({.device = name,
                         .port = port,
                         .index = index,
                         .gid = gid,
                         .type = type,
                         .netdev = netdev,
                         .netdev_present = !netdev.empty() && ::if_nametoindex(netdev.c_str()) != 0,
                         .port_active = active});
    }

    static GidType type_of(uint32_t type) {
        if (type == IBV_GID_TYPE_ROCE_V2)
            return GidType::RoceV2;
        return type == IBV_GID_TYPE_ROCE_V1 ? GidType::RoceV1 : GidType::InfiniBand;
    }

    [[nodiscard]] std::string attribute(uint8_t port, std::string_view kind, uint32_t index) const {
        // Empty entries answer EINVAL, masked ones ENOENT: not knowing is fine.
        return read_line(fmt::format("{}/class/infiniband/{}/ports/{}/gid_attrs/{}/{}",
                                     sysfs,
                                     name,
                                     port,
                                     kind,
                                     index))
            .value_or("");
    }
};
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
        auto rows = DeviceReader{verbs, name, context->get(), sysfs}.read();
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
                                   const std::vector<Address>& sources,
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

}  // namespace perf
