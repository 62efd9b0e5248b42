// SPDX-License-Identifier: Apache-2.0
// Neighbours talks to the stations on a link's segment about an address. It announces where the
// address is now, and asks whether another station has it. It uses packet sockets (packet(7)) bound
// to the one link: ARP (RFC 826, RFC 5227) for IPv4, neighbour discovery (RFC 4861, RFC 4862) for
// IPv6.
//
// An address that moves from one VF to another gets another MAC, and neighbours keep the old one
// for half a minute and longer. Two containers with one address break both. Answers come from
// strangers: they are bounded and checked, and a claim is taken only as a claim.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "netns/base/clock.h"
#include "netns/namespace.h"
#include "netns/values/address.h"

namespace netns {

// A link as its neighbours see it: its index in the namespace, and its MAC.
struct Station {
    uint32_t index = 0;
    Mac mac;
};

class Neighbours {
  public:
    virtual ~Neighbours() = default;

    // Announces to all neighbours that the addresses are at this station, with one packet each.
    // Unavailable: the link is down or gone.
    virtual Result<> announce(const Netns& ns,
                              const Station& station,
                              const std::vector<Address>& addresses) = 0;

    // Asks once which station has the address, and waits for an answer until the deadline. The
    // asking station must not have the address yet. Returns the MAC that claims it, or nothing.
    // Unavailable: the link is down or gone.
    virtual Result<std::optional<Mac>> find_owner(const Netns& ns,
                                                  const Station& station,
                                                  const Address& address,
                                                  base::Deadline deadline) = 0;
};

std::unique_ptr<Neighbours> make_kernel_neighbours();

}  // namespace netns
