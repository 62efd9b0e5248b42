// SPDX-License-Identifier: Apache-2.0
// The messages of traffic control in hardware. One half is the feature hw-tc-offload
// (Documentation/networking/ethtool-netlink.rst, FEATURES_GET and FEATURES_SET). The other is the
// filters of an ingress (rtnetlink(7), RTM_GETTFILTER; net/sched/cls_flower.c). Pure: no socket.
// Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>

#include "netns/kernel/netlink/genl.h"
#include "netns/tc_offload.h"

namespace netns::tc {

inline constexpr char kFeatureFamily[] = "ethtool";
inline constexpr uint8_t kFeatureVersion = 1;

// FEATURES_GET. The answer names the features, because their numbers differ from kernel to kernel.
netlink::Request feature_request(const netlink::GenlFamily& family, uint32_t link);
// FEATURES_SET of hw-tc-offload. The kernel acknowledges it even if nothing changes.
netlink::Request set_feature_request(const netlink::GenlFamily& family, uint32_t link, bool on);
// Returns nothing if the message is malformed.
std::optional<TcFeature> parse_feature(const netlink::Reply& reply);

// RTM_GETTFILTER, for a dump of the filters at the link's ingress. Not a terse dump: that fails at
// any filter of a kind that knows no terse form (u32: EMSGSIZE, seen with 7.3).
netlink::Request rules_request(uint32_t link);
// Adds the counts of a flower rule; another filter adds nothing.
void count_rule(const netlink::Reply& reply, TcRules& rules);

}  // namespace netns::tc
