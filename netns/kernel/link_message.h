// SPDX-License-Identifier: Apache-2.0
// The messages of rtnetlink(7): values to requests, replies to values. Pure: no socket, no
// namespace. Private to netns/.
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

// RTM_NEWLINK: the child with all that it is given, up at once, in the namespace behind `fd`.
netlink::Request child_request(const ChildSpec& spec, int fd);
// RTM_SETLINK: a change of a link; into the namespace behind `target` first, if there is one.
netlink::Request change_request(uint32_t index,
                                const LinkChange& change,
                                std::optional<int> target);
// RTM_NEWLINKPROP or RTM_DELLINKPROP (5.5): another name of the link.
netlink::Request altname_request(int type, int flags, uint32_t index, const std::string& name);
// RTM_SETLINK: arp_ignore and arp_announce of the link.
netlink::Request strict_arp_request(uint32_t index);
// RTM_GETLINK, of a link or of all, without the statistics, which cost most and nobody reads.
netlink::Request link_query(uint32_t index);
// RTM_NEWADDR or RTM_DELADDR.
netlink::Request address_request(int type, int flags, uint32_t index, const Address& address);

// Internal if the message is malformed.
Result<Link> parse_link(const netlink::Reply& reply);
// Nothing if the message is malformed, or of a family that is no IP.
std::optional<Address> parse_address(const netlink::Reply& reply);
// The link of a route that is a default route: unicast, for every destination.
std::optional<uint32_t> default_link(const netlink::Reply& reply);

}  // namespace netns
