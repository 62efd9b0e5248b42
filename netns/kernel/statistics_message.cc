// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/statistics_message.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace netns {

using netlink::Attributes;
using netlink::Reply;
using netlink::Request;

Request counters_request(uint32_t index) {
    Request request{RTM_GETSTATS, 0};
    if_stats_msg header{};
    header.family = AF_UNSPEC;
    header.ifindex = index;
    header.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
    request.header(header);
    return request;
}

std::optional<Counters> parse_counters(const Reply& reply) {
    if (reply.type != RTM_NEWSTATS || reply.payload.size() < sizeof(if_stats_msg))
        return std::nullopt;
    const auto attributes =
        Attributes::parse(netlink::after_header(reply.payload, sizeof(if_stats_msg)));
    const auto bytes = attributes ? attributes->find(IFLA_STATS_LINK_64) : std::nullopt;
    // Newer kernels have more counters at the end (6.0); those in use are in the oldest part.
    rtnl_link_stats64 all{};
    if (!bytes || bytes->size() < offsetof(rtnl_link_stats64, rx_nohandler))
        return std::nullopt;
    std::memcpy(&all, bytes->data(), std::min(bytes->size(), sizeof all));
    const std::array<uint64_t, kLinkCounters.size()> values = {all.rx_packets,
                                                               all.tx_packets,
                                                               all.rx_bytes,
                                                               all.tx_bytes,
                                                               all.rx_errors,
                                                               all.tx_errors,
                                                               all.rx_dropped,
                                                               all.tx_dropped,
                                                               all.multicast};
    Counters counters;
    for (size_t i = 0; i < values.size(); ++i)
        counters.emplace(kLinkCounters[i], values[i]);
    return counters;
}

std::optional<uint64_t> parse_counter(const std::string& text) {
    uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end)
        return std::nullopt;
    return value;
}

}  // namespace netns
