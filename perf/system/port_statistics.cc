// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "perf/system/counters.h"

namespace perf {

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

NumberAttribute number_attribute(int type, uint32_t value) {
    return {{sizeof(NumberAttribute), static_cast<uint16_t>(type)}, value};
}

// Connected to the kernel, which then refuses what other processes send to it.
UniqueFd open_nldev() {
    UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (fd && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) != 0)
        fd.reset();
    return fd;
}

// Gives the payload of each message of the answer to take(). The kernel answers while it takes the
// request, or the part before: there is nothing to wait for.
template <class Request, class Take>
void ask_nldev(const Request& request, Take&& take) {
    const UniqueFd fd = open_nldev();
    if (!fd || ::send(fd.get(), &request, sizeof request, 0) < 0)
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
        .device = number_attribute(RDMA_NLDEV_ATTR_DEV_INDEX, *index),
        .port = number_attribute(RDMA_NLDEV_ATTR_PORT_INDEX, port)};
    ask_nldev(request, [&](NetlinkBytes payload) { out = parse_statistics(payload); });
    return out;
}

}  // namespace perf
