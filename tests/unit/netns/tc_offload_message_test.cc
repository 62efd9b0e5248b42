// SPDX-License-Identifier: Apache-2.0
// Requests of the room for tc offload, and the values that it reads from recorded and made-up
// answers.
#include "netns/kernel/tc_offload_message.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <linux/ethtool_netlink.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>

#include "tests/unit/netns/genl_messages.h"
#include "tests/unit/netns/recorded_eswitch.h"

namespace netns {
namespace {

using netlink::Attributes;
using netlink::Bytes;
using netlink::GenlFamily;
using netlink::Reply;
using netlink::Request;
using test::genl_reply;
using test::recorded_replies;
using test::sent;

constexpr GenlFamily kEthtoolFamily{.id = 23, .version = tc::kFeatureVersion};

// A set of features as the kernel sends it.
void put_features(Request& answer, int set, bool mask, const std::vector<std::string>& names) {
    answer.begin(set);
    if (!mask)
        answer.put(ETHTOOL_A_BITSET_NOMASK, Bytes{});
    answer.begin(ETHTOOL_A_BITSET_BITS);
    for (const char* name : {"loopback", "hw-tc-offload"}) {
        const bool on = std::find(names.begin(), names.end(), name) != names.end();
        if (!mask && !on)
            continue;
        answer.begin(ETHTOOL_A_BITSET_BITS_BIT).put(ETHTOOL_A_BITSET_BIT_NAME, std::string(name));
        if (mask && on)
            answer.put(ETHTOOL_A_BITSET_BIT_VALUE, Bytes{});
        answer.end();
    }
    answer.end().end();
}

std::optional<TcFeature> parsed(const std::vector<std::string>& hw,
                                const std::vector<std::string>& active,
                                const std::vector<std::string>& never = {}) {
    Request answer = netlink::genl_request(kEthtoolFamily, ETHTOOL_MSG_FEATURES_GET_REPLY);
    put_features(answer, ETHTOOL_A_FEATURES_HW, true, hw);
    put_features(answer, ETHTOOL_A_FEATURES_ACTIVE, false, active);
    put_features(answer, ETHTOOL_A_FEATURES_NOCHANGE, false, never);
    return tc::parse_feature(genl_reply(answer));
}

struct Stat {
    int type;
    uint64_t packets;
};

// A rule as the kernel tells it.
Reply rule(const std::string& kind, uint32_t flags, const std::vector<Stat>& stats) {
    Request answer{RTM_NEWTFILTER, 0};
    tcmsg header{};
    header.tcm_handle = 1;
    answer.header(header).put(TCA_KIND, kind).begin(TCA_OPTIONS);
    answer.put(TCA_FLOWER_FLAGS, flags).begin(TCA_FLOWER_ACT).begin(1).begin(TCA_ACT_STATS);
    for (const auto& [type, packets] : stats) {
        std::vector<uint8_t> value(type == TCA_STATS_PKT64 ? 8 : 16);
        uint8_t* at = value.data() + (type == TCA_STATS_PKT64 ? 0 : 8);
        std::copy_n(reinterpret_cast<const uint8_t*>(&packets), value.data() + 8 == at ? 4 : 8, at);
        answer.put(type, Bytes{value});
    }
    answer.end().end().end().end();
    return genl_reply(answer);
}

TcRules rules_in(const std::vector<Reply>& replies) {
    TcRules rules;
    for (const auto& reply : replies)
        tc::count_rule(reply, rules);
    return rules;
}

TEST(TcOffloadMessage, AFeatureIsAskedForByIndex) {
    Request request = tc::feature_request(kEthtoolFamily, 17);
    const auto [type, command, version, attributes] = sent(request);
    EXPECT_EQ(type, 23);
    EXPECT_EQ(command, ETHTOOL_MSG_FEATURES_GET);
    EXPECT_EQ(version, 1);
    const Attributes header = attributes.nested(ETHTOOL_A_FEATURES_HEADER);
    EXPECT_EQ(header.u32(ETHTOOL_A_HEADER_DEV_INDEX), 17U);
    EXPECT_EQ(header.u32(ETHTOOL_A_HEADER_FLAGS), 0U) << "bits are wanted by name";
}

TEST(TcOffloadMessage, AFeatureIsSetAlone) {
    for (const bool on : {true, false}) {
        Request request = tc::set_feature_request(kEthtoolFamily, 17, on);
        const auto [type, command, version, attributes] = sent(request);
        EXPECT_EQ(command, ETHTOOL_MSG_FEATURES_SET);
        const Attributes wanted = attributes.nested(ETHTOOL_A_FEATURES_WANTED);
        EXPECT_FALSE(wanted.find(ETHTOOL_A_BITSET_NOMASK)) << "it would turn off all the others";
        const Attributes bits = wanted.nested(ETHTOOL_A_BITSET_BITS);
        ASSERT_EQ(bits.all().size(), 1U);
        const Attributes bit = bits.nested(ETHTOOL_A_BITSET_BITS_BIT);
        EXPECT_EQ(bit.text(ETHTOOL_A_BITSET_BIT_NAME), "hw-tc-offload");
        EXPECT_EQ(bit.find(ETHTOOL_A_BITSET_BIT_VALUE).has_value(), on);
    }
}

TEST(TcOffloadMessage, NestsAreMarked) {
    // ethtool's netlink refuses a nest without NLA_F_NESTED.
    Request request = tc::feature_request(kEthtoolFamily, 17);
    const Reply reply = genl_reply(request);
    EXPECT_EQ(reply.payload.at(4 + 3), 0x80);
}

TEST(TcOffloadMessage, RecordedFeatures) {
    using test::recorded::kFeaturesOfLo;
    using test::recorded::kFeaturesOfRepresentor;
    const TcFeature off{.on = false, .fixed = false};
    const TcFeature fixed{.on = false, .fixed = true};
    EXPECT_EQ(tc::parse_feature(recorded_replies(kFeaturesOfRepresentor).at(0)), off);
    EXPECT_EQ(tc::parse_feature(recorded_replies(kFeaturesOfLo).at(0)), fixed);
}

TEST(TcOffloadMessage, FeaturesOnAndFixed) {
    const std::string name = "hw-tc-offload";
    EXPECT_EQ(parsed({name}, {"loopback", name}), (TcFeature{.on = true, .fixed = false}));
    EXPECT_EQ(parsed({"loopback", name}, {"loopback"}), (TcFeature{.on = false, .fixed = false}));
    EXPECT_EQ(parsed({}, {name}), (TcFeature{.on = true, .fixed = true}));
    EXPECT_EQ(parsed({name}, {name}, {name}), (TcFeature{.on = true, .fixed = true}));
    EXPECT_EQ(parsed({name}, {}, {"loopback"}), (TcFeature{.on = false, .fixed = false}));
}

TEST(TcOffloadMessage, AnAnswerWithoutFeaturesIsNone) {
    EXPECT_FALSE(tc::parse_feature({}));
    Request answer = netlink::genl_request(kEthtoolFamily, ETHTOOL_MSG_FEATURES_GET_REPLY);
    EXPECT_FALSE(tc::parse_feature(genl_reply(answer)));
    put_features(answer, ETHTOOL_A_FEATURES_HW, true, {});
    EXPECT_FALSE(tc::parse_feature(genl_reply(answer)));
}

TEST(TcOffloadMessage, RulesOfAnIngress) {
    Request request = tc::rules_request(17);
    EXPECT_EQ(request.raw()->nlmsg_type, RTM_GETTFILTER);
    const Reply body = genl_reply(request);
    EXPECT_EQ(body.payload.size(), sizeof(tcmsg))
        << "strict: nothing that is no filter of the dump";
    const auto header = netlink::read_header<tcmsg>(body.payload).value();
    EXPECT_EQ(header.tcm_ifindex, 17);
    EXPECT_EQ(header.tcm_parent, 0xfffffff2U);
}

TEST(TcOffloadMessage, RecordedRules) {
    const TcRules expected{.rules = 3, .in_hw = 2, .skip_sw = 1, .packets = 0, .hw_packets = 0};
    EXPECT_EQ(rules_in(recorded_replies(test::recorded::kRules)), expected);
}

TEST(TcOffloadMessage, PacketsAreCounted) {
    constexpr uint64_t kMany = 0x100000007;
    constexpr uint32_t kInHw = TCA_CLS_FLAGS_IN_HW;
    const TcRules small{.rules = 1, .in_hw = 1, .skip_sw = 0, .packets = 5, .hw_packets = 3};
    EXPECT_EQ(rules_in({rule("flower", kInHw, {{TCA_STATS_BASIC, 5}, {TCA_STATS_BASIC_HW, 3}})}),
              small);
    const TcRules large{
        .rules = 1, .in_hw = 1, .skip_sw = 1, .packets = kMany + 1, .hw_packets = kMany};
    EXPECT_EQ(rules_in({rule("flower",
                             kInHw | TCA_CLS_FLAGS_SKIP_SW,
                             {{TCA_STATS_BASIC, kMany + 1},
                              {TCA_STATS_PKT64, kMany + 1},
                              {TCA_STATS_BASIC_HW, kMany},
                              {TCA_STATS_PKT64, kMany}})}),
              large);
    const TcRules sum{.rules = 2, .in_hw = 0, .skip_sw = 0, .packets = 12, .hw_packets = 0};
    EXPECT_EQ(rules_in({rule("flower", 0, {{TCA_STATS_BASIC, 5}}),
                        rule("flower", 0, {{TCA_STATS_BASIC, 7}}),
                        rule("matchall", kInHw, {{TCA_STATS_BASIC, 100}})}),
              sum);
    const TcRules none{.rules = 1, .in_hw = 0, .skip_sw = 0, .packets = 0, .hw_packets = 0};
    EXPECT_EQ(rules_in({rule("flower", TCA_CLS_FLAGS_NOT_IN_HW, {})}), none);
}

TEST(TcOffloadMessage, EveryTruncationIsSurvived) {
    for (const auto& hex : {test::recorded::kRules, test::recorded::kFeaturesOfRepresentor}) {
        for (const auto& whole : recorded_replies(hex)) {
            for (size_t size = 0; size < whole.payload.size(); ++size) {
                const Reply cut = test::cut(whole, size);
                EXPECT_LE(rules_in({cut}).rules, 1U);
                (void)tc::parse_feature(cut);
            }
        }
    }
}

TEST(TcOffloadMessage, StatisticsThatAreTooShortCountNothing) {
    const Reply whole = rule("flower", 0, {{TCA_STATS_BASIC, 5}});
    // The length of the statistics' attribute, which is the last one: 20 to 8.
    Reply broken = whole;
    auto at = broken.payload.end() - 20;
    ASSERT_EQ(*at, 20);
    *at = 8;
    EXPECT_EQ(rules_in({broken}).packets, 0U);
    EXPECT_EQ(rules_in({whole}).packets, 5U);
}

}  // namespace
}  // namespace netns
