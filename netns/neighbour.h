// SPDX-License-Identifier: Apache-2.0
// What is said to and heard from the neighbours on a link's segment about an address: announcing
// where it is now, and asking whether somebody else has it. By packet sockets (packet(7)) bound to
// the one link: ARP (RFC 826, RFC 5227) for IPv4, neighbour discovery (RFC 4861, RFC 4862) for
// IPv6.
//
// Why: an address that moves from one VF to another has another MAC from then on, and neighbours
// keep the old one for half a minute and longer. And two containers with one address break both.
// What is heard is from strangers: bounded, checked, and believed to be no more than a claim.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "netns/base/clock.h"
#include "netns/namespace.h"
#include "netns/values/address.h"

namespace netns {

// A link as its neighbours see it.
struct Station {
    uint32_t index = 0;
    Mac mac;
};

class Neighbours {
  public:
    virtual ~Neighbours() = default;

    // Tells all neighbours that the addresses are at this station: one packet each. Unavailable if
    // the link is down or gone.
    virtual Result<> announce(const Netns& ns,
                              const Station& station,
                              const std::vector<Address>& addresses) = 0;

    // Asks once who has the address, which the station itself must not have yet, and waits until
    // the deadline; the MAC of whoever claims it, or nothing. Unavailable as above.
    virtual Result<std::optional<Mac>> find_owner(const Netns& ns,
                                                  const Station& station,
                                                  const Address& address,
                                                  base::Deadline deadline) = 0;
};

std::unique_ptr<Neighbours> make_kernel_neighbours();

}  // namespace netns
