// SPDX-License-Identifier: Apache-2.0
// The messages of rtnetlink(7): values to requests, replies to values. Pure: no socket, no
// namespace. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>

#include <linux/rtnetlink.h>

#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/link.h"

namespace netns {

ifinfomsg link_header(uint32_t index);
uint8_t kernel_family(Family family);
netlink::Bytes raw(const Address& address);

// RTM_NEWLINK: makes the child with all its values, up at once, in the namespace behind `fd`.
netlink::Request child_request(const ChildSpec& spec, int fd);
// RTM_SETLINK: changes a link; moves it into the namespace behind `target` first, if there is one.
netlink::Request change_request(uint32_t index,
                                const LinkChange& change,
                                std::optional<int> target);
// RTM_NEWLINKPROP or RTM_DELLINKPROP (5.5): adds or removes an altname.
netlink::Request altname_request(int type, int flags, uint32_t index, const std::string& name);
// RTM_SETLINK: sets arp_ignore and arp_announce of the link.
netlink::Request strict_arp_request(uint32_t index);
// RTM_GETLINK: one link, or all for index 0, without the statistics, which cost most and are not
// used.
netlink::Request link_query(uint32_t index);
// RTM_NEWADDR or RTM_DELADDR.
netlink::Request address_request(int type, int flags, uint32_t index, const Address& address);

// Internal: the message is malformed.
Result<Link> parse_link(const netlink::Reply& reply);
// Returns nothing if the message is malformed, or its family is neither IPv4 nor IPv6.
std::optional<Address> parse_address(const netlink::Reply& reply);
// Returns the link of a default route: unicast, for every destination. Nothing for other routes.
std::optional<uint32_t> default_link(const netlink::Reply& reply);

}  // namespace netns
