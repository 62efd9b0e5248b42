// SPDX-License-Identifier: Apache-2.0
// Frames of ARP and neighbour discovery: values to bytes, bytes to values. Pure. Private to
// netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "netns/values/address.h"

namespace netns {

using Frame = std::vector<uint8_t>;  // from the Ethernet header on

// Makes the frame "the address is at this MAC": an ARP request for one's own address (RFC 5227,
// 2.3), or an unsolicited neighbour advertisement to all nodes (RFC 4861, 7.2.6).
Frame announcement(const Mac& own, const Address& address);

// Makes the frame "who has the address?" of a sender without an address: an ARP probe (RFC 5227,
// 2.1.1), or the solicitation of duplicate address detection (RFC 4862, 5.4.2).
Frame probe(const Mac& own, const Address& address);

// Returns the MAC of the station that claims the address in this frame, or asks for it at the same
// time. Nothing if the frame is about something else, comes from `own`, or is malformed.
std::optional<Mac> claimant(std::span<const uint8_t> frame, const Mac& own, const Address& address);

}  // namespace netns
