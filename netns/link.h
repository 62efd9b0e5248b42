// SPDX-License-Identifier: Apache-2.0
// Links reads and changes network devices and their addresses by rtnetlink(7). You name a device by
// its index within a namespace. Names are for lookups only: they can change hands.
//
// It relies on: a chosen ifindex in RTM_NEWLINK (3.7), IFLA_NET_NS_FD (3.0), NETLINK_GET_STRICT_CHK
// filters on dumps (4.20), RTM_F_FIB_MATCH (4.13), IFLA_INET_CONF (2.6.38). It enters a namespace
// only for the time that it takes to open a socket there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/namespace.h"
#include "netns/values/address.h"
#include "netns/values/child_type.h"

namespace netns {

struct Link {
    uint32_t index = 0;
    std::string name;
    std::string kind;  // IFLA_INFO_KIND: "macvlan", "veth", "dummy", "" for hardware
    Mac mac;
    uint32_t mtu = 0;      // bytes
    bool up = false;       // IFF_UP
    bool ethernet = true;  // ARPHRD_ETHER
    bool loopback = false;
    uint32_t parent = 0;      // IFLA_LINK, an index in the parent's namespace; 0 if none
    uint32_t master = 0;      // the bond, bridge or switch that it is a port of; 0: none
    bool strict_arp = false;  // arp_ignore is 1 and arp_announce 2
    std::string device;  // IFLA_PARENT_DEV_NAME (5.14): "0000:01:10.0"; empty for a virtual link
    std::string alias;   // IFLA_IFALIAS
    // Somebody made the link promiscuous (IFLA_PROMISCUITY), or attached an XDP program (IFLA_XDP).
    // Both move with it into another namespace.
    bool promiscuous = false;
    bool xdp = false;
    std::vector<std::string> altnames;
    bool operator==(const Link&) const = default;
};

// Changes to a link; an empty member stays as it is. Some drivers take a MAC or an MTU, and kernels
// before 6.2 a name, only while the link is down. So `up` = false takes the link down first, and
// `up` = true brings it up last.
struct LinkChange {
    std::optional<std::string> name{};
    std::optional<std::string> alias{};
    std::optional<Mac> mac{};
    std::optional<uint32_t> mtu{};  // bytes
    std::optional<bool> up{};
    std::optional<uint32_t> index{};  // in the target namespace; for move() only
    bool operator==(const LinkChange&) const = default;
};

// A child of a link of the host. It is made directly inside the target namespace, and is up. An
// ipvlan is in mode L2.
struct ChildSpec {
    uint32_t parent = 0;  // an index in the host's namespace
    uint32_t index = 0;   // the new link's, in the target namespace
    std::string name;
    Mac mac;           // not for an ipvlan
    uint32_t mtu = 0;  // bytes
    ChildType type{};
    bool operator==(const ChildSpec&) const = default;
};

class Links {
  public:
    virtual ~Links() = default;

    // Both return nothing if there is no such link.
    virtual Result<std::optional<Link>> find(const Netns& ns, uint32_t index) = 0;
    virtual Result<std::optional<Link>> find_by_name(const Netns& ns, const std::string& name) = 0;
    // Waits until no link of `ns` has the name. False: one still has it at the deadline.
    virtual Result<bool> wait_until_free(const Netns& ns,
                                         const std::string& name,
                                         base::Deadline deadline) = 0;
    // Returns all links of a namespace. For a container's namespace, which has few; never for the
    // host's.
    virtual Result<std::vector<Link>> list(const Netns& ns) = 0;
    // Returns the indexes of the ports of a bond or bridge.
    virtual Result<std::vector<uint32_t>> ports_of(const Netns& ns, uint32_t master) = 0;
    // Returns the addresses of one link.
    virtual Result<std::vector<Address>> addresses(const Netns& ns, uint32_t index) = 0;
    // Returns the number of receive rules (ethtool -N) on the link called `name`; 0 if its driver
    // has no such rules. They move with the link into another namespace.
    virtual Result<uint32_t> receive_rules(const Netns& ns, const std::string& name) = 0;
    // Returns the index of the link of the default route, v4 first, then v6; nothing if there is no
    // default route.
    virtual Result<std::optional<uint32_t>> default_route_link(const Netns& ns) = 0;

    // Makes the child. Busy: name, index, MAC or VLAN is taken in the target namespace or on the
    // parent. (Before 6.15 an index that the host uses is taken, too: choose high ones.) Refused:
    // the parent can carry no child of this kind. BadInput: an impossible MAC or MTU. Unavailable:
    // no parent.
    virtual Result<> create_child(const Netns& host,
                                  const Netns& target,
                                  const ChildSpec& spec) = 0;
    // Removes a link; one that is not there is no error.
    virtual Result<> remove(const Netns& ns, uint32_t index) = 0;
    // Returns the link of a device ("0000:01:10.0") among the links of a container's namespace.
    virtual Result<std::optional<Link>> find_by_device(const Netns& ns,
                                                       const std::string& device) = 0;
    // Moves a link into another namespace and changes it there, in one request. The kernel moves it
    // first, which takes it down and drops its addresses. Then it sets MAC, MTU, name, alias and
    // flags, in this order. It may stop half-way: the link is then in the target namespace, and
    // only the values that precede the refused one are set. Only a name that is taken there is
    // changed by the move itself.
    //
    // Busy: the name or an altname (EEXIST) or the index (EBUSY) is taken there. Refused: the link
    // cannot leave its namespace (EINVAL). For BadInput see change().
    virtual Result<> move(const Netns& from,
                          const Netns& to,
                          uint32_t index,
                          const LinkChange& change) = 0;
    // Changes a link where it is. Busy: the name is taken, or a sibling has the MAC. BadInput: the
    // driver refuses the MAC (EADDRNOTAVAIL) or the MTU (EINVAL). If the link has the wanted name
    // as an altname (udev gives such), it loses the altname first: the kernel would answer EEXIST.
    virtual Result<> change(const Netns& ns, uint32_t index, const LinkChange& change) = 0;
    // Brings a link up. A driver may be busy (EBUSY, EAGAIN) because a setting of the PF has reset
    // its VF. Then the request is repeated until the deadline; after that the error is Busy.
    virtual Result<> raise(const Netns& ns, uint32_t index, base::Deadline deadline) = 0;
    // Takes an altname off a link (RTM_DELLINKPROP, 5.5). A name or link that is not there is no
    // error.
    virtual Result<> remove_altname(const Netns& ns, uint32_t index, const std::string& name) = 0;
    // Sets strict ARP (arp_ignore=1, arp_announce=2): the link answers only for its own addresses,
    // and asks with one of them. Without it, two links on one network each answer for both. An RDMA
    // device takes only packets that come to its own netdev. Unavailable: no such link.
    virtual Result<> set_strict_arp(const Netns& ns, uint32_t index) = 0;
    // Adds an address. An IPv6 address skips duplicate address detection (IFA_F_NODAD), so it is
    // usable at once. Busy (EEXIST): the address is there.
    virtual Result<> add_address(const Netns& ns, uint32_t index, const Address& address) = 0;
    // Removes an address. An address or link that is not there is no error.
    virtual Result<> remove_address(const Netns& ns, uint32_t index, const Address& address) = 0;
};

// The room over the kernel.
std::unique_ptr<Links> make_kernel_links();

}  // namespace netns
