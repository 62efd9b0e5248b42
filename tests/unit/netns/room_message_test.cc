// SPDX-License-Identifier: Apache-2.0
// Requests of the rooms for links and RDMA devices, and the values that they read from recorded
// answers.
#include <algorithm>

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "netns/kernel/link_message.h"
#include "netns/kernel/rdma_message.h"
#include "tests/unit/netns/recorded.h"

namespace netns {
namespace {

using netlink::Attributes;
using netlink::Bytes;
using netlink::Reply;
using netlink::Request;
namespace recorded = test::recorded;

// The n-th message of a recorded datagram.
Reply reply(std::string_view hex, size_t n = 0) {
    const auto datagram = test::bytes(hex);
    const auto message = netlink::split_datagram(datagram).value().at(n);
    return {message.type, {message.payload.begin(), message.payload.end()}};
}

// The payload of a request, copied.
std::vector<uint8_t> payload(Request& request) {
    const auto* raw = reinterpret_cast<const uint8_t*>(request.raw());
    const auto message = netlink::split_datagram({raw, request.raw()->nlmsg_len}).value().front();
    return {message.payload.begin(), message.payload.end()};
}

TEST(LinkMessage, ARecordedMacvlanIsUnderstood) {
    const auto link = parse_link(reply(recorded::kLink));
    ASSERT_TRUE(link) << link.error().message();
    Link expected;
    expected.index = 0x40000001;
    expected.name = "rdma0";
    expected.kind = "macvlan";
    expected.mac = *parse_mac("02:00:5e:10:00:01");
    expected.mtu = 1400;
    expected.up = true;
    expected.parent = 3;
    EXPECT_EQ(*link, expected);
}

TEST(LinkMessage, EveryTruncationIsALinkOrAnError) {
    const Reply whole = reply(recorded::kLink);
    for (size_t size = 0; size < whole.payload.size(); ++size) {
        const Reply cut{whole.type,
                        {whole.payload.begin(), whole.payload.begin() + static_cast<long>(size)}};
        const auto link = parse_link(cut);
        EXPECT_TRUE(link || link.error().code == base::Code::Internal);
        (void)default_link(cut);
    }
}

TEST(LinkMessage, RecordedAddressesAreUnderstood) {
    EXPECT_EQ(parse_address(reply(recorded::kAddress4)), parse_cidr("10.9.0.1/24"));
    EXPECT_EQ(parse_address(reply(recorded::kAddresses6, 0)), parse_cidr("fd00::1/64"));
    EXPECT_EQ(parse_address(reply(recorded::kAddresses6, 1)), parse_cidr("fe80::5eff:fe10:1/64"));
}

TEST(LinkMessage, WhatIsNoIpAddressIsNone) {
    Reply foreign = reply(recorded::kAddress4);
    foreign.payload[0] = AF_PHONET;  // ifa_family
    EXPECT_FALSE(parse_address(foreign));
    EXPECT_FALSE(parse_address(reply(recorded::kLink)));
    Reply long_prefix = reply(recorded::kAddress4);
    long_prefix.payload[1] = 33;  // ifa_prefixlen
    EXPECT_FALSE(parse_address(long_prefix));
    const Reply whole = reply(recorded::kAddresses6, 0);
    for (size_t size = 0; size < whole.payload.size(); ++size)
        (void)parse_address(
            {whole.type, {whole.payload.begin(), whole.payload.begin() + static_cast<long>(size)}});
}

TEST(LinkMessage, TheDefaultRoutesLinkIsFound) {
    EXPECT_EQ(default_link(reply(recorded::kDefaultRoute)), 0x40000001U);
}

TEST(LinkMessage, OtherRoutesAreNoDefaultRoute) {
    Reply route = reply(recorded::kDefaultRoute);
    route.payload[1] = 1;  // rtm_dst_len: half of all addresses, as VPNs do
    EXPECT_FALSE(default_link(route));
    route = reply(recorded::kDefaultRoute);
    route.payload[7] = RTN_BLACKHOLE;
    EXPECT_FALSE(default_link(route));
}

// Built by hand: rtmsg, then RTA_MULTIPATH with two next hops, of which the first is taken.
TEST(LinkMessage, SeveralNextHopsGiveTheFirstOnesLink) {
    const Reply route{RTM_NEWROUTE,
                      test::bytes("02000000fe0300010000000024000900"
                                  "10000000050000000800050"
                                  "00a090002"
                                  "10000000060000000800050"
                                  "00a090102")};
    EXPECT_EQ(default_link(route), 5U);
}

TEST(LinkMessage, AMacvlanIsAskedForInOneRequest) {
    Request request = child_request({.parent = 4,
                                     .index = 0x40000001,
                                     .name = "rdma0",
                                     .mac = *parse_mac("02:00:5e:10:00:01"),
                                     .mtu = 1400},
                                    17);
    ASSERT_TRUE(request.complete());
    EXPECT_EQ(request.raw()->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
    const auto body = payload(request);
    const auto header = netlink::read_header<ifinfomsg>(body);
    EXPECT_EQ(header->ifi_index, 0x40000001);
    EXPECT_EQ(header->ifi_flags, static_cast<unsigned>(IFF_UP));
    EXPECT_EQ(header->ifi_change, static_cast<unsigned>(IFF_UP));
    const auto attributes = Attributes::parse(netlink::after_header(body, sizeof *header));
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->u32(IFLA_LINK), 4U);
    EXPECT_EQ(attributes->u32(IFLA_MTU), 1400U);
    EXPECT_EQ(attributes->u32(IFLA_NET_NS_FD), 17U);
    const Attributes info = attributes->nested(IFLA_LINKINFO);
    EXPECT_EQ(info.text(IFLA_INFO_KIND), "macvlan");
    EXPECT_EQ(info.nested(IFLA_INFO_DATA).u32(IFLA_MACVLAN_MODE), uint32_t{MACVLAN_MODE_BRIDGE});
}

TEST(LinkMessage, V6AddressesAreAddedWithoutDuplicateDetection) {
    const auto flags_of = [](int type, const char* text) {
        Request request = address_request(type, 0, 7, *parse_cidr(text));
        return netlink::read_header<ifaddrmsg>(payload(request))->ifa_flags;
    };
    EXPECT_EQ(flags_of(RTM_NEWADDR, "fd00::1/64"), IFA_F_NODAD);
    EXPECT_EQ(flags_of(RTM_NEWADDR, "10.9.0.1/24"), 0);
    EXPECT_EQ(flags_of(RTM_DELADDR, "fd00::1/64"), 0);
}

TEST(RdmaMessage, RecordedAnswersAreUnderstood) {
    const auto system = nldev::parse_system(reply(recorded::kSystem));
    ASSERT_TRUE(system);
    EXPECT_EQ(system->mode, RdmaNetnsMode::Shared);
    EXPECT_TRUE(system->monitor);
    const auto device = nldev::parse_device(reply(recorded::kDevice));
    ASSERT_TRUE(device);
    EXPECT_EQ(*device, (RdmaDevice{.index = 0, .name = "rxe7", .node_guid = 0x00005efffe100001}));
    EXPECT_EQ(nldev::parse_port_netdev(reply(recorded::kPort)), 3U);
    EXPECT_EQ(nldev::parse_port_state(reply(recorded::kPort)), kActivePort);
    EXPECT_EQ(nldev::parse_port_state(reply(recorded::kDevice)), "") << "no port's answer";
    EXPECT_EQ(nldev::parse_chardev(reply(recorded::kVerbsNode)), (CharDevice{"uverbs0", 231, 192}));
    EXPECT_EQ(nldev::parse_chardev(reply(recorded::kCmNode)), (CharDevice{"rdma_cm", 10, 260}));
    EXPECT_EQ(nldev::count_contexts(reply(recorded::kContexts)), 2U);
    EXPECT_TRUE(nldev::lists_gsi_qp(reply(recorded::kQueuePairs)));
}

TEST(RdmaMessage, ADeviceOfInfinibandIsKnownByItsProtocol) {
    // Built by hand: index (1) 2, name (2) "mlx5_0", protocol (67) "ib".
    const auto device = nldev::parse_device(
        {0, test::bytes("08000100020000000b0002006d6c78355f3000000700430069620000")});
    ASSERT_TRUE(device);
    EXPECT_EQ(*device, (RdmaDevice{.index = 2, .name = "mlx5_0", .infiniband = true}));
}

TEST(RdmaMessage, AnswersToOtherQuestionsAreNone) {
    const Reply system = reply(recorded::kSystem);
    EXPECT_FALSE(nldev::parse_device(system));
    EXPECT_FALSE(nldev::parse_chardev(system));
    EXPECT_FALSE(nldev::parse_port_netdev(reply(recorded::kDevice))) << "no port's answer";
    EXPECT_FALSE(nldev::parse_system(reply(recorded::kDevice)));
    EXPECT_EQ(nldev::count_contexts(reply(recorded::kQueuePairs)), 0U);
    EXPECT_FALSE(nldev::lists_gsi_qp(reply(recorded::kContexts)));
    const Reply empty{0, {}};
    EXPECT_FALSE(nldev::parse_device(empty));
    EXPECT_EQ(nldev::count_contexts(empty), 0U);
}

TEST(RdmaMessage, AQueuePairOfAnotherTypeIsNoGsiQp) {
    Reply pairs = reply(recorded::kQueuePairs);
    // RES_TYPE (26) of the one entry: a u8 behind its header.
    const std::vector<uint8_t> type{0x05, 0x00, 0x1a, 0x00, 0x01};
    const auto at =
        std::search(pairs.payload.begin(), pairs.payload.end(), type.begin(), type.end());
    ASSERT_NE(at, pairs.payload.end());
    *(at + 4) = 2;  // RC
    EXPECT_FALSE(nldev::lists_gsi_qp(pairs));
}

TEST(RdmaMessage, ExclusiveModeIsZero) {
    // Built by hand: NETNS_MODE (66) 0, and nothing of MONITOR_MODE, as before 6.12.
    const auto system = nldev::parse_system({0, test::bytes("0500420000000000")});
    ASSERT_TRUE(system);
    EXPECT_EQ(system->mode, RdmaNetnsMode::Exclusive);
    EXPECT_FALSE(system->monitor);
}

}  // namespace
}  // namespace netns
