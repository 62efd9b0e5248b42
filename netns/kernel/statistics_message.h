// SPDX-License-Identifier: Apache-2.0
// The message of rtnetlink(7) about a link's counters, and the text of a counter's file. Pure: no
// socket. Private to netns/kernel/.
#pragma once

#include <optional>
#include <string>

#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/statistics.h"

namespace netns {

// RTM_GETSTATS: asks for the 64-bit counters that every link has.
netlink::Request counters_request(uint32_t index);
// Returns nothing if the message is malformed or of another type.
std::optional<Counters> parse_counters(const netlink::Reply& reply);
// Returns nothing for a text that is no number: the device has no such counter.
std::optional<uint64_t> parse_counter(const std::string& text);

}  // namespace netns
