// SPDX-License-Identifier: Apache-2.0
#include "hook/request/request.h"

#include <gtest/gtest.h>

#include "netns/base/json.h"

namespace hook {
namespace {
Request parse(const Annotations& annotations) {
    auto request = parse_request(annotations, Config{});
    EXPECT_TRUE(request) << request.error().message();
    return request ? std::move(request).value() : Request{};
}

TEST(Request, OursAreTheKeysWithoutSlash) {
    for (const char* key : {"rdma.mode",
                            "rdma.0.mode",
                            "rdma.",
                            "rdma.x",
                            "rdma.99.mode",
                            "rdma.mode\n",
                            "rdma.a.b.c",
                            "rdma.7"})
        EXPECT_TRUE(mentions_rdma({{key, "x"}})) << key;
    for (const char* key : {"rdma",
                            "rdma.example.com/mode",
                            "rdma./",
                            "RDMA.mode",
                            "xrdma.mode",
                            "rdma-hook/attached",
                            "rdma.0.mode/x",
                            ""})
        EXPECT_FALSE(mentions_rdma({{key, "x"}})) << key;
    EXPECT_FALSE(mentions_rdma({}));
}

TEST(Request, NothingOfOursIsNothing) {
    EXPECT_TRUE(
        parse({{"io.container.manager", "libpod"}, {"rdma.org/x", ""}}).attachments.empty());
}

TEST(Request, TheLeast) {
    const Request request = parse({{"rdma.mode", "softroce"}});
    ASSERT_EQ(request.attachments.size(), 1U);
    Attachment expected;
    expected.mode = "softroce";
    expected.ifname = "rdma0";
    EXPECT_EQ(request.attachments[0], expected);
    EXPECT_FALSE(request.memlock);
    EXPECT_EQ(request.memlock_default, kMemlockUnlimited);
    EXPECT_FALSE(request.optional);
}

TEST(Request, TheMost) {
    const Request request = parse({{"rdma.mode", "softroce"},
                                   {"rdma.parent", "eth0.100"},
                                   {"rdma.placement", "container"},
                                   {"rdma.ip", "10.9.0.1/24,fd00::1/64,10.9.0.2/24"},
                                   {"rdma.mac", "02:00:5E:10:00:01"},
                                   {"rdma.mtu", "9000"},
                                   {"rdma.ifname", "ib-0"},
                                   {"rdma.memlock", "unlimited"},
                                   {"rdma.optional", "true"}});
    ASSERT_EQ(request.attachments.size(), 1U);
    const Attachment& a = request.attachments[0];
    EXPECT_EQ(a.parent, "eth0.100");
    EXPECT_EQ(a.ip_source, IpSource::Static);
    ASSERT_EQ(a.addresses.size(), 3U);  // two of one subnet are two addresses of one interface
    EXPECT_EQ(to_string(a.addresses[1]), "fd00::1/64");
    EXPECT_EQ(to_string(*a.mac), "02:00:5e:10:00:01");
    EXPECT_EQ(a.mtu, 9000U);
    EXPECT_EQ(a.ifname, "ib-0");
    EXPECT_EQ(request.memlock, kMemlockUnlimited);
    EXPECT_TRUE(request.optional);
}

TEST(Request, ThePolicyBoundsWhatIsGivenUnasked) {
    Config config;
    config.policy = Policy{};
    EXPECT_EQ(parse_request({{"rdma.mode", "softiwarp"}}, config)->memlock_default, 0U);
    config.policy->memlock_max = 65536;
    EXPECT_EQ(parse_request({{"rdma.mode", "softiwarp"}}, config)->memlock_default, 65536U);
}

TEST(Request, SeveralDevices) {
    const Request request = parse({{"rdma.mode", "softroce"},
                                   {"rdma.0.mtu", "1500"},
                                   {"rdma.15.mode", "softiwarp"},
                                   {"rdma.3.mode", "shared"},
                                   {"rdma.3.parent", "mlx5_0"},
                                   {"rdma.3.ip", "10.9.0.1/24"},
                                   {"rdma.0.memlock", "65536"}});
    ASSERT_EQ(request.attachments.size(), 3U);
    EXPECT_EQ(request.attachments[0].mtu, 1500U);
    EXPECT_EQ(request.attachments[1].index, 3U);
    EXPECT_EQ(request.attachments[1].ifname, "rdma3");
    EXPECT_EQ(request.attachments[1].parent, "mlx5_0");
    EXPECT_EQ(request.attachments[2].mode, "softiwarp");
    EXPECT_EQ(request.attachments[2].ifname, "rdma15");
    EXPECT_EQ(request.memlock, 65536U);
}

// rdma.memlock and rdma.optional speak of the container: they make no attachment 0.
TEST(Request, KeysOfTheContainerMakeNoAttachment) {
    const Request request = parse({{"rdma.1.mode", "softiwarp"}, {"rdma.memlock", "1"}});
    ASSERT_EQ(request.attachments.size(), 1U);
    EXPECT_EQ(request.attachments[0].index, 1U);
}

TEST(Request, WhereWeMakeNoInterfaceItHasNoName) {
    const Request host = parse({{"rdma.mode", "softroce"}, {"rdma.placement", "host"}});
    EXPECT_EQ(host.attachments[0].ifname, "");
    EXPECT_EQ(host.attachments[0].placement, Placement::Host);
    const Request engine = parse(
        {{"rdma.mode", "softroce"}, {"rdma.parent", "container"}, {"rdma.ip", "10.9.0.1/24"}});
    EXPECT_EQ(engine.attachments[0].ifname, "");
    EXPECT_EQ(engine.attachments[0].addresses.size(), 1U);
}

TEST(Request, EdgesOfEveryRange) {
    const std::pair<const char*, const char*> good[] = {
        {"mtu", "576"},
        {"mtu", "9978"},
        {"ifname", "a"},
        {"ifname", "fifteen-chars.0"},
        {"mac", "ae:00:00:00:00:00"},
        {"ip", "none"},
        {"ip", "10.9.0.1/32"},
        {"ip", "10.9.0.0/31"},
        {"ip", "fe80::1/64"},
        {"memlock", "1"},
        {"memlock", "9223372036854775807"},
        {"optional", "false"},
        {"parent", "a23456789012345678901234567890123456789012345678901234567890123"},
    };
    for (const auto& [key, value] : good) {
        const auto request = parse_request(
            {{"rdma.mode", "softroce"}, {std::string("rdma.") + key, value}}, Config{});
        EXPECT_TRUE(request) << request.error().message();
    }
    std::string sixteen;
    for (int i = 1; i <= 16; ++i)
        sixteen += (i == 1 ? "" : ",") +
                   ("2001:db8:1111:2222:3333:4444:5555:" + std::to_string(i)) + "/128";
    EXPECT_EQ(
        parse({{"rdma.mode", "softroce"}, {"rdma.ip", sixteen}}).attachments[0].addresses.size(),
        16U);
}

TEST(Request, JsonRoundTrip) {
    for (const Annotations& annotations : std::vector<Annotations>{
             {{"rdma.mode", "softroce"}},
             {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}, {"rdma.parent", "eth0"}},
             {{"rdma.7.mode", "shared"},
              {"rdma.7.ip", "10.9.0.1/24,FD00::0001/64"},
              {"rdma.7.mac", "02:00:5E:10:00:01"},
              {"rdma.7.mtu", "1500"}}}) {
        const Attachment attachment = parse(annotations).attachments.at(0);
        const auto again = attachment_from_json(to_json(attachment));
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(*again, attachment);
    }
    EXPECT_EQ(base::dump_json(to_json(parse({{"rdma.7.mode", "shared"},
                                             {"rdma.7.ip", "FD00::0001/64"},
                                             {"rdma.7.mtu", "1500"}})
                                          .attachments.at(0))),
              R"({"index":7,"mode":"shared","placement":"container","ifname":"rdma7",)"
              R"("ip":"fd00::1/64","mtu":"1500"})");
}

TEST(Request, JsonOfAJournalIsCheckedToo) {
    const std::pair<const char*, const char*> bad[] = {
        {"[]", "not an object"},
        {"{}", "'index' is missing"},
        {R"({"index":16,"mode":"vf","ip":"none"})", "index 16"},
        {R"({"index":-1,"mode":"vf","ip":"none"})", "'index' must be"},
        {R"({"index":0,"ip":"none"})", "mode or ip is missing"},
        {R"({"index":0,"mode":"vf"})", "mode or ip is missing"},
        {R"({"index":0,"mode":"vf","ip":"none","mtu":1500})", "'mtu' must be a string"},
        {R"({"index":0,"mode":"vf","ip":"none","mtu":"1"})", "mtu='1'"},
        {R"({"index":0,"mode":"vf","ip":"none","ifname":"../x"})", "ifname='../x'"},
        {R"({"index":0,"mode":"vf","ip":"none","memlock":"1"})", "unknown member 'memlock'"},
        {R"({"index":0,"mode":"vf","ip":"none","max_hca_objects":"1"})",
         "unknown member 'max_hca_objects'"},
        {R"({"index":0,"mode":"vf","ip":"none","x":"1"})", "unknown member 'x'"},
    };
    for (const auto& [text, says] : bad) {
        const auto attachment = attachment_from_json(*base::parse_json(text, "x"));
        ASSERT_FALSE(attachment) << text;
        EXPECT_EQ(attachment.error().code, base::Code::BadInput);
        EXPECT_NE(attachment.error().message().find(says), std::string::npos)
            << attachment.error().message();
    }
}
}  // namespace
}  // namespace hook
