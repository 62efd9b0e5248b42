// SPDX-License-Identifier: Apache-2.0
#include "perf/system/counters.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "netns/base/files.h"
#include "netns/base/json.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr size_t kCounterFileLimit = 4096;
constexpr size_t kMostCounters = 1024;
constexpr size_t kNameLimit = 128;

constexpr std::string_view kCongested = "congested";

// rxe: rxe_hw_counters.c. mlx5: drivers/infiniband/hw/mlx5/counters.c. bnxt_re: hw_counters.c
// there; irdma, erdma: the TCP of their iWARP side. EFA: efa_verbs.c.
constexpr std::pair<std::string_view, std::string_view> kTroubles[] = {
    {"retransmit",
     "completer_retry_err duplicate_request out_of_seq_request rcvd_rnr_err rcvd_seq_err "
     "retry_exceeded_err retry_rnr_exceeded_err send_rnr_err implied_nak_seq_err "
     "local_ack_timeout_err out_of_sequence packet_seq_err req_rnr_retries_exceeded "
     "req_transport_retries_exceeded rnr_nak_retry_err roce_adp_retrans roce_adp_retrans_to "
     "max_retry_exceeded missing_resp rnr_naks_rcvd seq_err_naks_rcvd to_retransmits "
     "retrans_pkts retrans_timeout_events tcpRetransSegs"},
    // The last eight are a netdev's. No rx_dropped: it counts what no protocol here wanted (LLDP).
    {"loss",
     "send_err out_of_buffer rx_icrc_encapsulated oos_drop_count res_oos_drop_count rx_drops "
     "excessive_buffer_overrun_errors local_link_integrity_errors port_rcv_errors "
     "port_xmit_discards symbol_error VL15_dropped rx_crc_errors rx_errors rx_fifo_errors "
     "rx_missed_errors rx_over_errors tx_dropped tx_errors tx_fifo_errors"},
    // port_xmit_wait: PortCounters, ticks in which an InfiniBand port had data and no credits.
    // Ethernet's pause frames: is_pause().
    {kCongested,
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

// Pause frames, by the names that drivers give them: rx_prio3_pause, rx_global_pause (mlx5),
// rx_pause_frames, rx_pfc_ena_frames_pri3 (bnxt), rx_priority_3_xoff.nic (ice).
bool is_pause(std::string_view name) {
    constexpr std::string_view kParts[] = {"pause", "pfc_ena", "xoff"};
    return std::ranges::any_of(
        kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

// The driver's own statistics have them, among hundreds of others.
void read_pauses(const std::string& netdev, Ethtool ethtool, Counters& out) {
    constexpr uint32_t kMost = 16384;
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    if (ethtool(netdev, &driver) != 0 || driver.n_stats > kMost)
        return;
    // Room for as many again: the kernel writes all that there are by then.
    const size_t room = 2 * size_t{driver.n_stats};
    std::vector<uint64_t> name_room(2 + room * ETH_GSTRING_LEN / sizeof(uint64_t));
    std::vector<uint64_t> value_room(1 + room);
    auto* names = reinterpret_cast<ethtool_gstrings*>(name_room.data());
    auto* values = reinterpret_cast<ethtool_stats*>(value_room.data());
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_STATS;
    values->cmd = ETHTOOL_GSTATS;
    names->len = values->n_stats = driver.n_stats;
    if (ethtool(netdev, names) != 0 || ethtool(netdev, values) != 0 ||
        names->len != values->n_stats)
        return;
    for (size_t i = 0; i < std::min<size_t>(names->len, room); ++i) {
        const auto* name = reinterpret_cast<const char*>(&names->data[i * ETH_GSTRING_LEN]);
        const std::string text = printable({name, ::strnlen(name, ETH_GSTRING_LEN)});
        if (is_pause(text) && out.size() < kMostCounters)
            out["ethtool/" + text] = values->data[i];
    }
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

int ask_ethtool(const std::string& netdev, void* command) {
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    netdev.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_data = static_cast<char*>(command);
    return fd && ::ioctl(fd.get(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

Result<Counters> read_counters(const CounterSource& source,
                               const std::string& sysfs,
                               Ethtool ethtool) {
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
    if (index != 0 && number_in(netdev + "/ifindex") == index) {
        read_folder(netdev + "/statistics", "netdev", out);
        read_pauses(source.netdev, ethtool, out);
    }
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

std::vector<std::string> flags_of(const Counters& grown) {
    std::vector<std::string> out;
    for (const auto& row : kTroubles) {
        const auto names = words_of(row.second);
        const auto tells = [&](const auto& counter) {
            const std::string_view path = counter.first;
            const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
            return std::ranges::count(names, name) != 0 ||
                   (row.first == kCongested && is_pause(name));
        };
        if (std::ranges::any_of(grown, tells))
            out.emplace_back(row.first);
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

template <class Take>
void each(NetlinkBytes attributes, Take&& take) {
    nlattr head{};
    while (attributes.size() >= sizeof head) {
        std::memcpy(&head, attributes.data(), sizeof head);
        if (head.nla_len < sizeof head || head.nla_len > attributes.size())
            return;
        take(head.nla_type & NLA_TYPE_MASK,
             attributes.subspan(sizeof head, head.nla_len - sizeof head));
        attributes =
            attributes.subspan(std::min<size_t>(NLA_ALIGN(head.nla_len), attributes.size()));
    }
}

// Empty if it is not there.
NetlinkBytes find(NetlinkBytes attributes, int wanted) {
    NetlinkBytes found;
    each(attributes, [&](int type, NetlinkBytes value) {
        if (type == wanted)
            found = value;
    });
    return found;
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

struct DcbRequest {
    nlmsghdr head;
    dcbmsg dcb;
    nlattr name_head;
    std::array<char, IFNAMSIZ> name;
};

nlmsghdr request_head(int type, size_t length, int flags = 0) {
    return {.nlmsg_len = static_cast<uint32_t>(length),
            .nlmsg_type = static_cast<uint16_t>(type),
            .nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags),
            .nlmsg_seq = 0,
            .nlmsg_pid = 0};
}

constexpr int nldev(int command) {
    return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

// Gives the payload of each message of the answer to take(). The kernel answers while it takes the
// request, or the part before: there is nothing to wait for. Returns 0, or the kernel's errno.
template <class Request, class Take>
int ask(int protocol, const Request& request, Take&& take) {
    const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    // Connected to the kernel, which then refuses what other processes send to it.
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) != 0 ||
        ::send(fd.get(), &request, sizeof request, 0) < 0)
        return errno;
    int refusal = 0;
    alignas(nlmsghdr) std::array<std::byte, 32768> buffer;  // the kernel's own limit for a part
    for (;;) {
        auto left = static_cast<int>(::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT));
        if (left <= 0)
            return refusal;
        for (auto* head = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(head, left);
             head = NLMSG_NEXT(head, left)) {
            const NetlinkBytes payload(static_cast<std::byte*>(NLMSG_DATA(head)),
                                       NLMSG_PAYLOAD(head, 0));
            if (head->nlmsg_type >= NLMSG_MIN_TYPE)  // no error, and not the end of a list
                take(payload);
            else if (head->nlmsg_type == NLMSG_ERROR && payload.size() >= sizeof(int))
                refusal = -number_in<int>(payload.first(sizeof(int))).value_or(0);
        }
    }
}
}  // namespace

std::optional<uint32_t> parse_index(NetlinkBytes payload, const std::string& device) {
    return text_of(find(payload, RDMA_NLDEV_ATTR_DEV_NAME)) == device
               ? number_in<uint32_t>(find(payload, RDMA_NLDEV_ATTR_DEV_INDEX))
               : std::nullopt;
}

Counters parse_statistics(NetlinkBytes payload) {
    Counters out;
    each(find(payload, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS), [&](int type, NetlinkBytes entry) {
        const std::string name = text_of(find(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME));
        const auto value =
            number_in<uint64_t>(find(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE));
        if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY && !name.empty() && value)
            out[name] = *value;
    });
    return out;
}

Counters port_statistics(const std::string& device, uint8_t port) {
    std::optional<uint32_t> index;
    const nlmsghdr list = request_head(nldev(RDMA_NLDEV_CMD_GET), sizeof list, NLM_F_DUMP);
    (void)ask(NETLINK_RDMA, list, [&](NetlinkBytes payload) {
        if (const auto found = parse_index(payload, device))
            index = found;
    });
    if (!index)
        return {};
    Counters out;
    const StatisticsRequest request = {
        .head = request_head(nldev(RDMA_NLDEV_CMD_STAT_GET), sizeof request),
        .device = {{sizeof(NumberAttribute), RDMA_NLDEV_ATTR_DEV_INDEX}, *index},
        .port = {{sizeof(NumberAttribute), RDMA_NLDEV_ATTR_PORT_INDEX}, port}};
    (void)ask(
        NETLINK_RDMA, request, [&](NetlinkBytes payload) { out = parse_statistics(payload); });
    return out;
}

std::optional<uint8_t> parse_pfc(NetlinkBytes payload) {
    const NetlinkBytes attributes = payload.subspan(std::min(sizeof(dcbmsg), payload.size()));
    const NetlinkBytes found = find(find(attributes, DCB_ATTR_IEEE), DCB_ATTR_IEEE_PFC);
    ieee_pfc pfc{};
    if (found.size() < sizeof pfc)
        return std::nullopt;
    std::memcpy(&pfc, found.data(), sizeof pfc);
    return pfc.pfc_en;
}

Result<uint8_t> pfc_of(const std::string& netdev) {
    DcbRequest request = {.head = request_head(RTM_GETDCB, sizeof request),
                          .dcb = {.dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0},
                          .name_head = {NLA_HDRLEN + IFNAMSIZ, DCB_ATTR_IFNAME},
                          .name = {}};
    netdev.copy(request.name.data(), request.name.size() - 1);
    std::optional<uint8_t> priorities;
    const int refusal =
        ask(NETLINK_ROUTE, request, [&](NetlinkBytes payload) { priorities = parse_pfc(payload); });
    if (priorities)
        return *priorities;
    return sys_error(refusal != 0 ? refusal : EOPNOTSUPP, "ask for PFC of " + netdev);
}

}  // namespace perf
