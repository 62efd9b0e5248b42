// SPDX-License-Identifier: Apache-2.0
// rdma.child, rdma.macvlan_mode and rdma.vlan of a mode that shares an HCA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/request/request.h"
#include "netns/base/json.h"

namespace hook {
namespace {

using netns::ChildKind;
using netns::MacvlanMode;
using testing::HasSubstr;

using More = std::map<std::string, std::string>;

Annotations child_with(More more) {
    Annotations all{{"rdma.mode", "shared"}};
    if (!more.contains("rdma.ip"))
        more["rdma.ip"] = "10.9.0.1/24";
    all.merge(more);
    return all;
}

netns::ChildType child(const More& more, const Config& config = {}) {
    const auto request = parse_request(child_with(more), config);
    EXPECT_TRUE(request) << request.error().message();
    if (!request)
        return {};
    const Attachment& attachment = request->attachments.at(0);
    const auto again = attachment_from_json(to_json(attachment));
    EXPECT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, attachment);
    return child_type(attachment);
}

std::string child_refusal(const More& more) {
    const auto request = parse_request(child_with(more), Config{});
    EXPECT_FALSE(request);
    if (request)
        return "";
    EXPECT_EQ(request.error().code, Code::BadInput);
    return request.error().message();
}

TEST(RequestChild, TheKindAndWhatGoesWithIt) {
    using Child = netns::ChildType;
    EXPECT_EQ(child({}), Child{});
    EXPECT_EQ(child({{"rdma.child", "macvlan"}, {"rdma.macvlan_mode", "vepa"}}),
              (Child{ChildKind::Macvlan, MacvlanMode::Vepa, 0}));
    EXPECT_EQ(child({{"rdma.child", "ipvlan"}}),
              (Child{ChildKind::Ipvlan, MacvlanMode::Bridge, 0}));
    EXPECT_EQ(child({{"rdma.vlan", "7"}}), (Child{ChildKind::Vlan, MacvlanMode::Bridge, 7}))
        << "a VLAN id says that it is one";
    EXPECT_EQ(child({{"rdma.child", "vlan"}, {"rdma.vlan", "4094"}}),
              (Child{ChildKind::Vlan, MacvlanMode::Bridge, 4094}));
}

TEST(RequestChild, APoolsDefaultsThatDoNotFitAreLeftOut) {
    Pool pool;
    pool.name = "lans";
    pool.mode = "shared";
    pool.is_default = true;
    pool.defaults = {{"vlan", "9"}, {"macvlan_mode", "private"}};
    Config config;
    config.pools.push_back(pool);
    EXPECT_EQ(child({}, config), (netns::ChildType{ChildKind::Vlan, MacvlanMode::Bridge, 9}));
    EXPECT_EQ(child({{"rdma.child", "macvlan"}}, config),
              (netns::ChildType{ChildKind::Macvlan, MacvlanMode::Private, 0}));
}

TEST(RequestChild, WhatIsRefused) {
    EXPECT_THAT(child_refusal({{"rdma.child", "veth"}}),
                HasSubstr("'macvlan', 'ipvlan' or 'vlan'"));
    EXPECT_THAT(child_refusal({{"rdma.macvlan_mode", "passthru"}}),
                HasSubstr("'bridge', 'private'"));
    EXPECT_THAT(child_refusal({{"rdma.child", "vlan"}}), HasSubstr("needs rdma.vlan"));
    EXPECT_THAT(child_refusal({{"rdma.child", "macvlan"}, {"rdma.vlan", "7"}}),
                HasSubstr("rdma.vlan='7' does not go with rdma.child=macvlan"));
    EXPECT_THAT(child_refusal({{"rdma.vlan", "7"}, {"rdma.macvlan_mode", "vepa"}}),
                HasSubstr("does not go with rdma.child=vlan"));
    EXPECT_THAT(child_refusal({{"rdma.child", "ipvlan"}, {"rdma.mac", "02:00:5e:10:00:01"}}),
                HasSubstr("does not go with rdma.child=ipvlan"));
    EXPECT_THAT(child_refusal({{"rdma.vlan", "0"}}), HasSubstr("1 to 4094"));
    EXPECT_THAT(child_refusal({{"rdma.parent", "container"}}),
                HasSubstr("does not go with mode shared"));
    EXPECT_THAT(child_refusal({{"rdma.ip", "none"}}), HasSubstr("mode shared needs an address"));
}

}  // namespace
}  // namespace hook
