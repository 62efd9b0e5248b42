// SPDX-License-Identifier: Apache-2.0
// Requests of the room for SR-IOV, and the values that it reads from recorded answers; and changes
// of links.
#include "netns/kernel/sriov_message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>

#include "netns/kernel/link_message.h"
#include "tests/unit/netns/recorded.h"
#include "tests/unit/netns/recorded_vfs.h"

namespace netns {
namespace {

using netlink::Attributes;
using netlink::Bytes;
using netlink::Reply;
using netlink::Request;
namespace recorded_vfs = test::recorded;

Reply vf_reply(std::string_view hex) {
    const auto datagram = test::bytes(hex);
    const auto message = netlink::split_datagram(datagram).value().at(0);
    return {message.type, {message.payload.begin(), message.payload.end()}};
}

std::vector<uint8_t> body_of(Request& request) {
    const auto* raw = reinterpret_cast<const uint8_t*>(request.raw());
    const auto message = netlink::split_datagram({raw, request.raw()->nlmsg_len}).value().front();
    return {message.payload.begin(), message.payload.end()};
}

// Where the attribute of VF 0 stands in the recorded PF: its own bytes, without header.
uint8_t* value_at(Reply& reply, uint16_t length, uint16_t type) {
    const std::vector<uint8_t> header{
        static_cast<uint8_t>(length), 0, static_cast<uint8_t>(type), 0};
    const auto at =
        std::search(reply.payload.begin() + 100, reply.payload.end(), header.begin(), header.end());
    EXPECT_NE(at, reply.payload.end());
    return &*at + 4;
}

TEST(SriovMessage, ARecordedPfIsUnderstood) {
    const Reply reply = vf_reply(recorded_vfs::kPf);
    VfSettings expected;
    expected.mac = *parse_mac("ba:1c:92:19:3b:bc");
    expected.vlan = VfVlan{};
    expected.rate = VfRate{};
    expected.spoofchk = true;
    expected.trust = false;
    expected.link_state = VfLinkState::Auto;
    EXPECT_EQ(parse_vf(reply, 0), expected);
    expected.mac = *parse_mac("86:67:d9:74:cd:62");
    EXPECT_EQ(parse_vf(reply, 1), expected);
    EXPECT_FALSE(parse_vf(reply, 2)) << "not listed";
    EXPECT_EQ(count_vfs(reply), 4U);
    EXPECT_EQ(count_vfs(vf_reply(recorded_vfs::kVf)), 0U);
    EXPECT_FALSE(parse_vf(vf_reply(recorded_vfs::kVf), 0)) << "no PF";
    const auto link = parse_link(reply);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->name, "enp1s0");
    EXPECT_EQ(link->device, "0000:01:00.0");
    EXPECT_EQ(link->altnames, std::vector<std::string>{"enx5254009f0001"});
    EXPECT_EQ(parse_link(vf_reply(recorded_vfs::kVf))->device, "0000:01:10.6");
}

// The kernel writes the length of the list modulo 65536.
TEST(SriovMessage, MoreVfsThanAListsLengthCanSayAreRead) {
    constexpr uint32_t kVfs = 700;
    Reply reply = vf_reply(recorded_vfs::kPf);
    const std::vector<uint8_t> list{0x8c, 0x01, 0x16, 0x00, 0xc4, 0x00, 0x01, 0x00};
    auto at = std::search(reply.payload.begin(), reply.payload.end(), list.begin(), list.end());
    ASSERT_NE(at, reply.payload.end());
    const std::vector<uint8_t> vf{at + 4, at + 4 + 0xc4};
    const std::vector<uint8_t> behind{at + 0x18c, reply.payload.end()};
    reply.payload.erase(at + 4, reply.payload.end());
    for (uint32_t number = 0; number < kVfs; ++number) {
        reply.payload.insert(reply.payload.end(), vf.begin(), vf.end());
        // Behind the headers of IFLA_VF_INFO and of its first attribute, IFLA_VF_MAC.
        std::memcpy(
            reply.payload.data() + reply.payload.size() - vf.size() + 8, &number, sizeof number);
    }
    reply.payload.insert(reply.payload.end(), behind.begin(), behind.end());
    const auto wrapped = static_cast<uint16_t>(4 + kVfs * vf.size());
    at = std::search(reply.payload.begin(), reply.payload.end(), list.begin(), list.begin() + 4);
    std::memcpy(&*at, &wrapped, sizeof wrapped);
    EXPECT_EQ(count_vfs(reply), 4U) << "as it was recorded";
    for (const uint32_t number : {0U, 334U, kVfs - 1})
        EXPECT_TRUE(parse_vf(reply, number)) << number;
    EXPECT_FALSE(parse_vf(reply, kVfs));
}

TEST(SriovMessage, ARefusalSaysWhatToDo) {
    const auto advice = [](const char* setting, int sys) {
        return explain_setting(setting, base::sys_error(sys, "set")).fix;
    };
    EXPECT_NE(advice("vlan", EPERM).find("VGT+ of MLNX_OFED"), std::string::npos);
    EXPECT_EQ(advice("trust", EPERM), "run as root");
    EXPECT_NE(advice("rate", EINVAL).find("speed of the PF's link"), std::string::npos);
    EXPECT_EQ(advice("mac", EINVAL), "");
    for (const auto& [sys, code] : {std::pair{EOPNOTSUPP, base::Code::Unsupported},
                                    {EPROTONOSUPPORT, base::Code::Unsupported},
                                    {EADDRNOTAVAIL, base::Code::BadInput},
                                    {ENODEV, base::Code::Unavailable},
                                    {EAGAIN, base::Code::Busy}})
        EXPECT_EQ(explain_setting("mac", base::sys_error(sys, "set")).code, code) << sys;
}

TEST(SriovMessage, EveryTruncationIsSurvived) {
    const Reply whole = vf_reply(recorded_vfs::kPf);
    for (size_t size = 0; size < whole.payload.size(); ++size) {
        const Reply cut{whole.type,
                        {whole.payload.begin(), whole.payload.begin() + static_cast<long>(size)}};
        (void)parse_vf(cut, 0);
        (void)count_vfs(cut);
        (void)parse_link(cut);
    }
}

TEST(SriovMessage, WhatADriverDoesNotKnowIsEmpty) {
    Reply reply = vf_reply(recorded_vfs::kPf);
    std::memset(value_at(reply, 12, IFLA_VF_SPOOFCHK) + 4, 0xff, 4);
    std::memset(value_at(reply, 12, IFLA_VF_TRUST) + 4, 0xff, 4);
    const auto settings = parse_vf(reply, 0);
    ASSERT_TRUE(settings);
    EXPECT_FALSE(settings->spoofchk);
    EXPECT_FALSE(settings->trust);
    EXPECT_FALSE(settings->node_guid);
}

TEST(SriovMessage, VlanRateAndLinkState) {
    Reply reply = vf_reply(recorded_vfs::kPf);
    uint8_t* vlan = value_at(reply, 20, IFLA_VF_VLAN_INFO);
    const uint8_t values[] = {0, 0, 0, 0, 0xe8, 3, 0, 0, 5, 0, 0, 0, 0x88, 0xa8};
    std::memcpy(vlan, values, sizeof values);
    value_at(reply, 16, IFLA_VF_RATE)[4] = 10;
    value_at(reply, 16, IFLA_VF_RATE)[8] = 100;
    value_at(reply, 12, IFLA_VF_LINK_STATE)[4] = 2;
    const auto settings = parse_vf(reply, 0);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->vlan, (VfVlan{.id = 1000, .qos = 5, .protocol = VlanProtocol::Dot1ad}));
    EXPECT_EQ(settings->rate, (VfRate{.min = 10, .max = 100}));
    EXPECT_EQ(settings->link_state, VfLinkState::Off);
}

TEST(SriovMessage, AnInfiniBandPfHasNoMacs) {
    Reply reply = vf_reply(recorded_vfs::kPf);
    const uint16_t type = ARPHRD_INFINIBAND;
    std::memcpy(reply.payload.data() + offsetof(ifinfomsg, ifi_type), &type, sizeof type);
    const auto settings = parse_vf(reply, 0);
    ASSERT_TRUE(settings);
    EXPECT_FALSE(settings->mac);
    EXPECT_FALSE(settings->vlan);
    EXPECT_FALSE(settings->rate);
    EXPECT_TRUE(settings->link_state);
}

TEST(SriovMessage, VfsAreAskedForWithoutStatistics) {
    Request request = vf_list_request(7);
    EXPECT_EQ(request.raw()->nlmsg_type, RTM_GETLINK);
    const auto body = body_of(request);
    EXPECT_EQ(netlink::read_header<ifinfomsg>(body)->ifi_index, 7);
    const auto attributes = Attributes::parse(netlink::after_header(body, sizeof(ifinfomsg)));
    EXPECT_EQ(attributes->u32(IFLA_EXT_MASK), 9U);
}

// The one attribute of the one VF of a request.
std::pair<int, std::vector<uint8_t>> asked(VfRequest& one) {
    EXPECT_TRUE(one.request.complete());
    EXPECT_EQ(one.request.raw()->nlmsg_type, RTM_SETLINK);
    const auto body = body_of(one.request);
    EXPECT_EQ(netlink::read_header<ifinfomsg>(body)->ifi_index, 7);
    const auto attributes = Attributes::parse(netlink::after_header(body, sizeof(ifinfomsg)));
    const Attributes vf = attributes->nested(IFLA_VFINFO_LIST).nested(IFLA_VF_INFO);
    EXPECT_EQ(vf.all().size(), 1U);
    const auto& [type, bytes] = vf.all().at(0);
    return {type, {bytes.begin(), bytes.end()}};
}

TEST(SriovMessage, EachSettingIsARequestInOrder) {
    EXPECT_TRUE(vf_requests(7, 3, {}).empty());
    VfSettings all;
    all.mac = *parse_mac("02:00:5e:10:00:01");
    all.vlan = VfVlan{.id = 100, .qos = 3, .protocol = VlanProtocol::Dot1ad};
    all.rate = VfRate{.min = 1, .max = 2};
    all.spoofchk = false;
    all.trust = true;
    all.link_state = VfLinkState::On;
    all.node_guid = 0x0011223344556677;
    all.port_guid = 0x0011223344556678;
    auto requests = vf_requests(7, 3, all);
    const std::vector<std::pair<std::string, int>> expected{{"mac", IFLA_VF_MAC},
                                                            {"vlan", IFLA_VF_VLAN_LIST},
                                                            {"rate", IFLA_VF_RATE},
                                                            {"spoofchk", IFLA_VF_SPOOFCHK},
                                                            {"trust", IFLA_VF_TRUST},
                                                            {"link state", IFLA_VF_LINK_STATE},
                                                            {"node GUID", IFLA_VF_IB_NODE_GUID},
                                                            {"port GUID", IFLA_VF_IB_PORT_GUID}};
    ASSERT_EQ(requests.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(requests[i].setting, expected[i].first);
        EXPECT_EQ(asked(requests[i]).first, expected[i].second);
    }
    // Structures begin with the VF's number, in the kernel's byte order.
    EXPECT_EQ(asked(requests[0]).second.size(), sizeof(ifla_vf_mac));
    EXPECT_EQ(asked(requests[2]).second, test::bytes("030000000100000002000000"));
    EXPECT_EQ(asked(requests[3]).second, test::bytes("0300000000000000"));
    EXPECT_EQ(asked(requests[5]).second, test::bytes("0300000001000000"));
    EXPECT_EQ(asked(requests[6]).second, test::bytes("03000000000000007766554433221100"));
    const auto list = asked(requests[1]).second;
    const auto info = Attributes::parse(list)->find(IFLA_VF_VLAN_INFO);
    ASSERT_TRUE(info);
    EXPECT_EQ(std::vector<uint8_t>(info->begin(), info->end()),
              test::bytes("03000000640000000300000088a80000"));
}

TEST(SriovMessage, AMoveIsOneRequest) {
    LinkChange change;
    change.name = "rdma0";
    change.alias = "";
    change.mac = *parse_mac("02:00:5e:10:00:01");
    change.mtu = 1400;
    change.up = true;
    change.index = 0x40000001;
    Request request = change_request(7, change, 17);
    EXPECT_EQ(request.raw()->nlmsg_type, RTM_SETLINK);
    const auto body = body_of(request);
    const auto header = netlink::read_header<ifinfomsg>(body);
    EXPECT_EQ(header->ifi_index, 7);
    EXPECT_EQ(header->ifi_flags, static_cast<unsigned>(IFF_UP));
    EXPECT_EQ(header->ifi_change, static_cast<unsigned>(IFF_UP));
    const auto attributes = *Attributes::parse(netlink::after_header(body, sizeof *header));
    EXPECT_EQ(attributes.u32(IFLA_NET_NS_FD), 17U);
    EXPECT_EQ(attributes.u32(IFLA_NEW_IFINDEX), 0x40000001U);
    EXPECT_EQ(attributes.text(IFLA_IFNAME), "rdma0");
    EXPECT_EQ(attributes.u32(IFLA_MTU), 1400U);
    EXPECT_EQ(attributes.find(IFLA_ADDRESS)->size(), 6U);
    EXPECT_TRUE(attributes.find(IFLA_IFALIAS)->empty()) << "takes it away";
}

TEST(SriovMessage, WhatIsNotToChangeIsNotSent) {
    Request request = change_request(7, {.index = 9}, std::nullopt);
    const auto body = body_of(request);
    EXPECT_EQ(netlink::read_header<ifinfomsg>(body)->ifi_change, 0U);
    EXPECT_EQ(body.size(), sizeof(ifinfomsg)) << "an index is for moves";
    Request down = change_request(7, {.up = false}, std::nullopt);
    const auto header = netlink::read_header<ifinfomsg>(body_of(down));
    EXPECT_EQ(header->ifi_flags, 0U);
    EXPECT_EQ(header->ifi_change, static_cast<unsigned>(IFF_UP));
}

}  // namespace
}  // namespace netns
