// SPDX-License-Identifier: Apache-2.0
// Netlink messages taken apart and made by hand, for tests of *_message.cc.
#pragma once

#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <linux/genetlink.h>

#include "netns/kernel/netlink/genl.h"
#include "tests/unit/netns/recorded.h"

namespace test {

// The messages of a recorded answer but the end of a dump.
inline std::vector<netns::netlink::Reply> recorded_replies(std::string_view hex) {
    const auto datagrams = bytes(hex);
    std::vector<netns::netlink::Reply> all;
    const auto messages = netns::netlink::split_datagram(datagrams);
    for (const auto& message : messages.value()) {
        if (message.type != NLMSG_DONE)
            all.push_back({message.type, {message.payload.begin(), message.payload.end()}});
    }
    return all;
}

// Returns a request in the form of an answer.
inline netns::netlink::Reply genl_reply(netns::netlink::Request& request) {
    EXPECT_TRUE(request.complete());
    const auto* raw = reinterpret_cast<const uint8_t*>(request.raw());
    const auto message =
        netns::netlink::split_datagram({raw, request.raw()->nlmsg_len}).value().front();
    return {message.type, {message.payload.begin(), message.payload.end()}};
}

struct SentGenl {
    uint16_t type = 0;
    uint8_t command = 0;
    uint8_t version = 0;
    netns::netlink::Attributes attributes;  // views of the request
};

inline SentGenl sent(netns::netlink::Request& request) {
    EXPECT_TRUE(request.complete());
    const auto* raw = reinterpret_cast<const uint8_t*>(request.raw());
    const auto message =
        netns::netlink::split_datagram({raw, request.raw()->nlmsg_len}).value().front();
    const auto header = netns::netlink::read_header<genlmsghdr>(message.payload).value();
    return {message.type,
            header.cmd,
            header.version,
            netns::netlink::Attributes::parse(
                netns::netlink::after_header(message.payload, sizeof header))
                .value()};
}

inline netns::netlink::Reply cut(const netns::netlink::Reply& whole, size_t size) {
    return {whole.type,
            {whole.payload.begin(), whole.payload.begin() + static_cast<std::ptrdiff_t>(size)}};
}

}  // namespace test
