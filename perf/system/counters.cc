// SPDX-License-Identifier: Apache-2.0
#include "perf/system/counters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "netns/base/files.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr size_t kCounterFileLimit = 4096;
constexpr size_t kMostCounters = 1024;
constexpr size_t kNameLimit = 128;

// rxe: rxe_hw_counters.c. mlx5: drivers/infiniband/hw/mlx5/counters.c. bnxt_re: hw_counters.c
// there; irdma, erdma: the TCP of their iWARP side. EFA: efa_verbs.c.
constexpr std::pair<Trouble, std::string_view> kTroubles[] = {
    {Trouble::Retransmit,
     "completer_retry_err duplicate_request out_of_seq_request rcvd_rnr_err rcvd_seq_err "
     "retry_exceeded_err retry_rnr_exceeded_err send_rnr_err implied_nak_seq_err "
     "local_ack_timeout_err out_of_sequence packet_seq_err req_rnr_retries_exceeded "
     "req_transport_retries_exceeded rnr_nak_retry_err roce_adp_retrans roce_adp_retrans_to "
     "max_retry_exceeded missing_resp rnr_naks_rcvd seq_err_naks_rcvd to_retransmits "
     "retrans_pkts retrans_timeout_events tcpRetransSegs"},
    // The last eight are a netdev's. No rx_dropped: it counts what no protocol here wanted (LLDP).
    {Trouble::Loss,
     "send_err out_of_buffer rx_icrc_encapsulated oos_drop_count res_oos_drop_count rx_drops "
     "excessive_buffer_overrun_errors local_link_integrity_errors port_rcv_errors "
     "port_xmit_discards symbol_error VL15_dropped rx_crc_errors rx_errors rx_fifo_errors "
     "rx_missed_errors rx_over_errors tx_dropped tx_errors tx_fifo_errors"},
    // port_xmit_wait: PortCounters, ticks in which an InfiniBand port had data and no credits.
    // Pause frames of Ethernet are ethtool's, and not seen here.
    {Trouble::Congestion,
     "np_cnp_sent np_ecn_marked_roce_packets rp_cnp_handled rp_cnp_ignored cnpHandled "
     "cnpIgnored cnpSent RxECNMrkd rx_cnp_pkts rx_ecn_marked_pkts tx_cnp_pkts port_xmit_wait"}};

Result<> check_name(std::string_view what, const std::string& name) {
    if (!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
        name.find('\0') == std::string::npos)
        return {};
    return make_error(Code::BadInput, "{} '{}' is no name", what, printable(name, 40));
}

// A decimal number and at most a newline; drivers answer "N/A (no PMA)" or an error instead.
std::optional<uint64_t> number_in(const std::string& path) {
    const auto text = base::RealFiles().read(path, kCounterFileLimit);
    return text ? number_of(std::string_view(*text).substr(0, text->find('\n'))) : std::nullopt;
}

void read_folder(const std::string& folder, std::string_view kind, Counters& out) {
    const auto names = base::RealFiles().list(folder);
    if (!names)
        return;  // not there: this kernel, driver or container does not show it
    for (const std::string& name : *names) {
        if (out.size() >= kMostCounters)
            return;
        if (const auto value = number_in(folder + "/" + name))
            out[fmt::format("{}/{}", kind, name)] = *value;
    }
}
}  // namespace

Result<Counters> read_counters(const CounterSource& source, const std::string& sysfs) {
    TRY(check_name("device", source.device));
    const std::string port =
        fmt::format("{}/class/infiniband/{}/ports/{}", sysfs, source.device, source.port);
    Counters out;
    read_folder(port + "/hw_counters", "hw_counters", out);
    if (out.empty()) {
        for (const auto& [name, value] : port_statistics(source.device, source.port))
            out["hw_counters/" + name] = value;
    }
    read_folder(port + "/counters", "counters", out);
    if (source.netdev.empty())
        return out;
    TRY(check_name("netdev", source.netdev));
    const std::string netdev = fmt::format("{}/class/net/{}", sysfs, source.netdev);
    // The name is the one in the netdev's own namespace: here another interface may have it, or this
    // /sys may show another namespace. It is ours if both agree on the index.
    const unsigned index = ::if_nametoindex(source.netdev.c_str());
    if (index != 0 && number_in(netdev + "/ifindex") == index)
        read_folder(netdev + "/statistics", "netdev", out);
    return out;
}

Counters grown(const Counters& before, const Counters& after) {
    Counters out;
    for (const auto& [name, value] : after) {
        const auto old = before.find(name);
        if (old != before.end() && value > old->second)
            out[name] = value - old->second;
    }
    return out;
}

std::optional<Trouble> trouble_of(std::string_view counter) {
    const std::string_view name = counter.substr(counter.rfind('/') + 1);  // npos + 1 is 0
    for (const auto& [trouble, names] : kTroubles) {
        if (std::ranges::count(words_of(names), name) != 0)
            return trouble;
    }
    return std::nullopt;
}

std::vector<std::string> flags_of(const Counters& grown) {
    std::vector<std::string> out;
    for (const Trouble trouble : {Trouble::Retransmit, Trouble::Loss, Trouble::Congestion}) {
        if (std::ranges::any_of(
                grown, [&](const auto& entry) { return trouble_of(entry.first) == trouble; }))
            out.emplace_back(name_of(trouble));
    }
    return out;
}

Result<Counters> parse_counters(const Json& json) {
    if (!json.is_object() || json.size() > kMostCounters)
        return make_error(
            Code::BadInput, "'counters' must be an object of at most {} members", kMostCounters);
    Counters out;
    for (const auto& [name, value] : json.items())
        out[printable(name, kNameLimit)] = TRY(base::as<uint64_t>(value, "counters"));
    return out;
}

// ---- by netlink ---------------------------------------------------------------------------------
namespace {
using NetlinkBytes = std::span<const std::byte>;

struct NumberAttribute {
    nlattr head;
    uint32_t value;
};

struct StatisticsRequest {
    nlmsghdr head;
    NumberAttribute device;
    NumberAttribute port;
};

std::pair<size_t, int> length_and_type(const nlmsghdr& head) {
    return {head.nlmsg_len, head.nlmsg_type};
}

std::pair<size_t, int> length_and_type(const nlattr& head) {
    return {head.nla_len, head.nla_type & NLA_TYPE_MASK};
}

// Messages and attributes alike are a header, so many bytes, and padding.
template <class Header, class Take>
void each(NetlinkBytes bytes, Take&& take) {
    Header head{};
    while (bytes.size() >= sizeof head) {
        std::memcpy(&head, bytes.data(), sizeof head);
        const auto [length, type] = length_and_type(head);
        if (length < sizeof head || length > bytes.size())
            return;
        take(type, bytes.subspan(sizeof head, length - sizeof head));
        bytes = bytes.subspan(std::min<size_t>(NLMSG_ALIGN(length), bytes.size()));
    }
}

template <class Number>
std::optional<Number> number_in(NetlinkBytes bytes) {
    Number number = 0;
    if (bytes.size() != sizeof number)
        return std::nullopt;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

std::string text_of(NetlinkBytes bytes) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::string(all.substr(0, all.find('\0')));
}

nlmsghdr request_head(int command, size_t length, int flags) {
    return {.nlmsg_len = static_cast<uint32_t>(length),
            .nlmsg_type = static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)),
            .nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags),
            .nlmsg_seq = 0,
            .nlmsg_pid = 0};
}

// Gives the payload of each message of the answer to take(). The kernel answers while it takes the
// request, or the part before: there is nothing to wait for.
template <class Request, class Take>
void ask_nldev(const Request& request, Take&& take) {
    const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
    // Connected to the kernel, which then refuses what other processes send to it.
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) != 0 ||
        ::send(fd.get(), &request, sizeof request, 0) < 0)
        return;
    std::array<std::byte, 32768> buffer;  // the kernel's own limit for a part of a list
    for (;;) {
        const ssize_t n = ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n <= 0)
            return;
        each<nlmsghdr>({buffer.data(), static_cast<size_t>(n)},
                       [&](int type, NetlinkBytes payload) {
                           if (type >= NLMSG_MIN_TYPE)  // no error, and not the end of a list
                               take(payload);
                       });
    }
}
}  // namespace

std::optional<uint32_t> parse_index(NetlinkBytes payload, const std::string& device) {
    std::optional<uint32_t> index;
    bool named = false;
    each<nlattr>(payload, [&](int type, NetlinkBytes value) {
        if (type == RDMA_NLDEV_ATTR_DEV_INDEX)
            index = number_in<uint32_t>(value);
        if (type == RDMA_NLDEV_ATTR_DEV_NAME)
            named = text_of(value) == device;
    });
    return named ? index : std::nullopt;
}

Counters parse_statistics(NetlinkBytes payload) {
    Counters out;
    const auto take_entry = [&](NetlinkBytes entry) {
        std::string name;
        std::optional<uint64_t> value;
        each<nlattr>(entry, [&](int type, NetlinkBytes bytes) {
            if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
                name = text_of(bytes);
            if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
                value = number_in<uint64_t>(bytes);
        });
        if (!name.empty() && value)
            out[name] = *value;
    };
    each<nlattr>(payload, [&](int table, NetlinkBytes entries) {
        if (table != RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
            return;
        each<nlattr>(entries, [&](int type, NetlinkBytes entry) {
            if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
                take_entry(entry);
        });
    });
    return out;
}

Counters port_statistics(const std::string& device, uint8_t port) {
    std::optional<uint32_t> index;
    const nlmsghdr list = request_head(RDMA_NLDEV_CMD_GET, sizeof list, NLM_F_DUMP);
    ask_nldev(list, [&](NetlinkBytes payload) {
        if (const auto found = parse_index(payload, device))
            index = found;
    });
    if (!index)
        return {};
    Counters out;
    const StatisticsRequest request = {
        .head = request_head(RDMA_NLDEV_CMD_STAT_GET, sizeof request, 0),
        .device = {{sizeof(NumberAttribute), RDMA_NLDEV_ATTR_DEV_INDEX}, *index},
        .port = {{sizeof(NumberAttribute), RDMA_NLDEV_ATTR_PORT_INDEX}, port}};
    ask_nldev(request, [&](NetlinkBytes payload) { out = parse_statistics(payload); });
    return out;
}

}  // namespace perf
