// SPDX-License-Identifier: Apache-2.0
// Datagrams of netlink, and everything that is read out of their messages: rtnetlink, nldev,
// devlink, ethtool, tc. They come from the kernel, but a parser that reads behind the end of one
// reads behind the end. Every parser sees every message.
#include <string>
#include <vector>

#include "netns/kernel/devlink_message.h"
#include "netns/kernel/link_message.h"
#include "netns/kernel/netlink/genl.h"
#include "netns/kernel/rdma_message.h"
#include "netns/kernel/sriov_message.h"
#include "netns/kernel/statistics_message.h"
#include "netns/kernel/tc_offload_message.h"
#include "tests/fuzz/expect.h"

namespace {
using netns::netlink::MessageView;
using netns::netlink::Reply;

void read_attributes(netns::netlink::Bytes bytes, int depth) {
    const auto attributes = netns::netlink::Attributes::parse(bytes);
    if (!attributes || depth == 0)
        return;
    for (const auto& [type, inner] : attributes->all()) {
        fuzz::expect(inner.data() >= bytes.data() &&
                         inner.data() + inner.size() <= bytes.data() + bytes.size(),
                     "an attribute is within its message");
        const auto first = attributes->find(type);  // of several of one type
        fuzz::expect(first.has_value(), "what is listed is found");
        (void)attributes->u8(type);
        (void)attributes->u16(type);
        (void)attributes->u32(type);
        (void)attributes->u64(type);
        const auto text = attributes->text(type);
        fuzz::expect(!text || text->size() <= first->size(), "a text is within its attribute");
        read_attributes(inner, depth - 1);
    }
}

void read_links(const Reply& reply) {
    if (const auto link = netns::parse_link(reply)) {
        fuzz::expect(link->index != 0, "a link has an index");
        for (const auto& name : link->altnames)
            fuzz::expect(name.find('\0') == std::string::npos, "a name ends at its end");
    }
    if (const auto address = netns::parse_address(reply))
        fuzz::expect(netns::parse_cidr(netns::to_string(*address)) == address,
                     "an address can be written");
    (void)netns::default_link(reply);
    for (const uint32_t number : {0U, 1U, 255U})
        (void)netns::parse_vf(reply, number);
    if (const auto counters = netns::parse_counters(reply))
        fuzz::expect(counters->size() == netns::kLinkCounters.size(), "all counters are there");
    netns::TcRules rules;
    netns::tc::count_rule(reply, rules);
}

void read_devices(const Reply& reply) {
    (void)netns::nldev::parse_system(reply);
    (void)netns::nldev::parse_device(reply);
    (void)netns::nldev::parse_port_netdev(reply);
    (void)netns::nldev::parse_chardev(reply);
    (void)netns::nldev::count_contexts(reply);
    (void)netns::nldev::lists_gsi_qp(reply);
    (void)netns::netlink::parse_genl(reply);
    (void)netns::netlink::parse_family(reply);
    (void)netns::devlink::parse_eswitch(reply);
    (void)netns::devlink::parse_port(reply, "pci/0000:01:00.0");
    (void)netns::tc::parse_feature(reply);
}

void read_message(const MessageView& message) {
    const auto acknowledged = netns::netlink::parse_ack(message);
    const auto done = netns::netlink::parse_done(message);
    for (const auto& outcome : {acknowledged, done})
        fuzz::expect(!outcome || outcome->error >= 0, "an errno is not negative");
    read_attributes(message.payload, 4);
    const Reply reply{message.type, {message.payload.begin(), message.payload.end()}};
    read_links(reply);
    read_devices(reply);
}
}  // namespace

FUZZ_TARGET(netlink_reply) {
    const auto messages = netns::netlink::split_datagram({data, size});
    if (!messages)
        return;
    for (const MessageView& message : *messages)
        read_message(message);
}
