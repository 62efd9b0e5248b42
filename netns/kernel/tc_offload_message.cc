// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/tc_offload_message.h"

#include <linux/ethtool_netlink.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

namespace netns::tc {

using netlink::Attributes;
using netlink::Bytes;
using netlink::GenlFamily;
using netlink::Reply;
using netlink::Request;

namespace {
constexpr char kFeature[] = "hw-tc-offload";
constexpr char kRuleKind[] = "flower";
constexpr int kFirstAction = 1;

Request begin_features(const GenlFamily& family, uint8_t command, uint32_t link, uint32_t flags) {
    Request request = netlink::genl_request(family, command);
    request.begin(ETHTOOL_A_FEATURES_HEADER)
        .put(ETHTOOL_A_HEADER_DEV_INDEX, link)
        .put(ETHTOOL_A_HEADER_FLAGS, flags)
        .end();
    return request;
}

// Returns whether a set of named bits has the feature's. With a mask every bit is listed, and those
// that are set have a flag. Without a mask only set bits are listed.
bool has_feature(const Attributes& features, int set) {
    const Attributes bitset = features.nested(set);
    const bool list = bitset.find(ETHTOOL_A_BITSET_NOMASK).has_value();
    const Attributes bits = bitset.nested(ETHTOOL_A_BITSET_BITS);
    for (const auto& [type, bytes] : bits.all()) {
        const auto bit =
            type == ETHTOOL_A_BITSET_BITS_BIT ? Attributes::parse(bytes) : std::nullopt;
        if (bit && bit->text(ETHTOOL_A_BITSET_BIT_NAME) == kFeature)
            return list || bit->find(ETHTOOL_A_BITSET_BIT_VALUE).has_value();
    }
    return false;
}

// gnet_stats_basic, without the compiler's padding.
struct BasicCount {
    uint64_t bytes;
    uint32_t packets;
};

struct Counted {
    uint64_t all = 0;
    uint64_t hw = 0;
};

// Reads the statistics of an action. The first number includes what hardware has counted. A number
// that exceeds 32 bits is repeated with 64.
Counted counted(const Attributes& stats) {
    constexpr size_t kBasicSize = sizeof(uint64_t) + sizeof(uint32_t);
    Counted found;
    uint64_t* last = &found.all;
    for (const auto& [type, bytes] : stats.all()) {
        if (type == TCA_STATS_BASIC || type == TCA_STATS_BASIC_HW) {
            last = type == TCA_STATS_BASIC ? &found.all : &found.hw;
            BasicCount basic{};
            if (bytes.size() >= kBasicSize)
                __builtin_memcpy(&basic, bytes.data(), kBasicSize);
            *last = basic.packets;
        } else if (type == TCA_STATS_PKT64) {
            *last = netlink::read_header<uint64_t>(bytes).value_or(*last);
        }
    }
    return found;
}
}  // namespace

Request feature_request(const GenlFamily& family, uint32_t link) {
    return begin_features(family, ETHTOOL_MSG_FEATURES_GET, link, 0);
}

Request set_feature_request(const GenlFamily& family, uint32_t link, bool on) {
    Request request =
        begin_features(family, ETHTOOL_MSG_FEATURES_SET, link, ETHTOOL_FLAG_OMIT_REPLY);
    request.begin(ETHTOOL_A_FEATURES_WANTED)
        .begin(ETHTOOL_A_BITSET_BITS)
        .begin(ETHTOOL_A_BITSET_BITS_BIT)
        .put(ETHTOOL_A_BITSET_BIT_NAME, kFeature);
    if (on)
        request.put(ETHTOOL_A_BITSET_BIT_VALUE, Bytes{});
    request.end().end().end();
    return request;
}

std::optional<TcFeature> parse_feature(const Reply& reply) {
    const auto features = netlink::parse_genl(reply);
    if (!features || !features->find(ETHTOOL_A_FEATURES_HW) ||
        !features->find(ETHTOOL_A_FEATURES_ACTIVE))
        return std::nullopt;
    TcFeature feature;
    feature.on = has_feature(*features, ETHTOOL_A_FEATURES_ACTIVE);
    feature.fixed = !has_feature(*features, ETHTOOL_A_FEATURES_HW) ||
                    has_feature(*features, ETHTOOL_A_FEATURES_NOCHANGE);
    return feature;
}

Request rules_request(uint32_t link) {
    Request request{RTM_GETTFILTER, 0};
    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = static_cast<int>(link);
    // This parent finds the filters of the qdiscs "ingress" (which Open vSwitch uses) and "clsact"
    // alike. TC_H_INGRESS finds only the former's.
    header.tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
    request.header(header);
    return request;
}

void count_rule(const Reply& reply, TcRules& rules) {
    const auto header = netlink::read_header<tcmsg>(reply.payload);
    const auto filter =
        header && reply.type == RTM_NEWTFILTER
            ? Attributes::parse(netlink::after_header(reply.payload, sizeof *header))
            : std::nullopt;
    // A priority of a chain is listed, too, before its rules: it has no handle.
    if (!filter || header->tcm_handle == 0 || filter->text(TCA_KIND) != kRuleKind)
        return;
    const Attributes flower = filter->nested(TCA_OPTIONS);
    const uint32_t flags = flower.u32(TCA_FLOWER_FLAGS).value_or(0);
    const Attributes action = flower.nested(TCA_FLOWER_ACT).nested(kFirstAction);
    const Counted packets = counted(action.nested(TCA_ACT_STATS));
    rules.rules += 1;
    rules.in_hw += (flags & TCA_CLS_FLAGS_IN_HW) != 0 ? 1 : 0;
    rules.skip_sw += (flags & TCA_CLS_FLAGS_SKIP_SW) != 0 ? 1 : 0;
    rules.packets += packets.all;
    rules.hw_packets += packets.hw;
}

}  // namespace netns::tc
