// SPDX-License-Identifier: Apache-2.0
// rdma.gateway and rdma.routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/request/request.h"
#include "netns/base/json.h"

namespace hook {
namespace {

using testing::HasSubstr;

Annotations with(std::map<std::string, std::string> more) {
    Annotations all{{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}};
    all.merge(more);
    return all;
}

Attachment accepted(const std::map<std::string, std::string>& more) {
    auto request = parse_request(with(more), Config{});
    EXPECT_TRUE(request) << request.error().message();
    return request ? request->attachments.at(0) : Attachment{};
}

std::string refusal(const std::map<std::string, std::string>& more) {
    const auto request = parse_request(with(more), Config{});
    EXPECT_FALSE(request);
    if (request)
        return "";
    EXPECT_EQ(request.error().code, Code::BadInput);
    return request.error().message();
}

TEST(RequestRoutes, RoutesGoByTheirOwnGatewayElseTheCommonOne) {
    const Attachment a =
        accepted({{"rdma.gateway", "10.9.0.254,fd00:9::fe"},
                  {"rdma.routes", "10.8.0.0/16,10.7.0.0/16@10.9.0.253,fd01::/48,0.0.0.0/0"}});
    EXPECT_EQ(gateway_text(a.gateways), "10.9.0.254,fd00:9::fe");
    EXPECT_EQ(routes_text(a.routes),
              "10.8.0.0/16@10.9.0.254,10.7.0.0/16@10.9.0.253,fd01::/48@fd00:9::fe,"
              "0.0.0.0/0@10.9.0.254");
    EXPECT_EQ(routes_text(accepted({{"rdma.routes", "10.8.0.0/16"}}).routes), "10.8.0.0/16")
        << "directly on the link";
    EXPECT_EQ(gateway_text(accepted({{"rdma.gateway", "fe80::1"}}).gateways), "fe80::1");
}

TEST(RequestRoutes, TheJournalHasThemToo) {
    const Attachment a = accepted(
        {{"rdma.gateway", "10.9.0.254"}, {"rdma.routes", "10.8.0.0/16,fd01::/48@fd00:9::fe"}});
    const auto again = attachment_from_json(to_json(a));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, a);
}

TEST(RequestRoutes, WhatIsRefused) {
    EXPECT_THAT(refusal({{"rdma.gateway", "192.0.2.1"}}), HasSubstr("in no network"));
    EXPECT_THAT(refusal({{"rdma.gateway", "10.9.0.1"}}), HasSubstr("own address"));
    EXPECT_THAT(refusal({{"rdma.gateway", "10.9.0.254,10.9.0.253"}}), HasSubstr("two of one"));
    EXPECT_THAT(refusal({{"rdma.gateway", "10.9.0.254/24"}}), HasSubstr("not the address"));
    EXPECT_THAT(refusal({{"rdma.gateway", "224.0.0.1"}}), HasSubstr("not the address"));
    EXPECT_THAT(refusal({{"rdma.gateway", "none"}}), HasSubstr("'none'"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.1/16"}}), HasSubstr("not a network"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.0"}}), HasSubstr("not a network"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.0/16,10.8.0.0/16"}}), HasSubstr("there twice"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.0/16@"}}), HasSubstr("no gateway"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.0/16@fd00:9::fe"}}), HasSubstr("no gateway"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.0/16@192.0.2.1"}}), HasSubstr("in no network"));
    EXPECT_THAT(refusal({{"rdma.routes", "10.8.0.0/16,"}}), HasSubstr("not a network"));
    std::string many = "10.0.0.0/24";
    for (int i = 1; i <= 32; ++i)
        many += ",10.0." + std::to_string(i) + ".0/24";
    EXPECT_THAT(refusal({{"rdma.routes", many}}), HasSubstr("more than 32"));
    for (const char* key : {"rdma.gateway", "rdma.routes"}) {
        const std::string value = key == std::string("rdma.gateway") ? "10.9.0.254" : "10.8.0.0/16";
        EXPECT_THAT(refusal({{key, value}, {"rdma.parent", "container"}}),
                    HasSubstr("does not go with"));
    }
}

TEST(RequestRoutes, DefaultsOfAPoolAreLeftOutWhereTheyMakeNoSense) {
    Config config;
    config.pools.push_back({.name = "fast",
                            .mode = "softroce",
                            .is_default = true,
                            .defaults = {{"gateway", "10.9.0.254"},
                                         {"routes", "10.8.0.0/16,10.7.0.0/16@10.9.0.253"}}});
    auto inside = parse_request({{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}}, config);
    ASSERT_TRUE(inside) << inside.error().message();
    EXPECT_EQ(gateway_text(inside->attachments[0].gateways), "10.9.0.254");
    EXPECT_EQ(inside->attachments[0].routes.size(), 2U);
    auto outside = parse_request({{"rdma.mode", "softroce"}, {"rdma.ip", "10.5.0.1/24"}}, config);
    ASSERT_TRUE(outside) << outside.error().message();
    EXPECT_TRUE(outside->attachments[0].gateways.empty());
    EXPECT_EQ(routes_text(outside->attachments[0].routes), "10.8.0.0/16");
}

}  // namespace
}  // namespace hook
