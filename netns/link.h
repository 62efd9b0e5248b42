// SPDX-License-Identifier: Apache-2.0
// Network devices and their addresses, by rtnetlink(7). Devices are named by index within a
// namespace, never by name. Relies on: a chosen ifindex in RTM_NEWLINK (3.7), IFLA_NET_NS_FD (3.0),
// NETLINK_GET_STRICT_CHK filters on dumps (4.20), RTM_F_FIB_MATCH (4.13), IFLA_INET_CONF (2.6.38).
// Never enters a namespace for longer than it takes to open a socket there.
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
    // Somebody made it hear everything (IFLA_PROMISCUITY), or has a program look at what comes
    // (IFLA_XDP). Both go along into another namespace.
    bool promiscuous = false;
    bool xdp = false;
    std::vector<std::string> altnames;
    bool operator==(const Link&) const = default;
};

// What is to change of a link; what is empty stays. Some drivers take a MAC or an MTU, and kernels
// before 6.2 a name, only while the link is down: it is taken down first if `up` is false, and
// brought up last if it is true.
struct LinkChange {
    std::optional<std::string> name{};
    std::optional<std::string> alias{};
    std::optional<Mac> mac{};
    std::optional<uint32_t> mtu{};
    std::optional<bool> up{};
    std::optional<uint32_t> index{};  // in the namespace that it is moved to; not for change()
    bool operator==(const LinkChange&) const = default;
};

// A child made on `parent` (an index in the host's namespace) directly inside the target namespace,
// under the index, name and MAC given, and up. An ipvlan is in mode L2.
struct ChildSpec {
    uint32_t parent = 0;
    uint32_t index = 0;
    std::string name;
    Mac mac;  // not of an ipvlan
    uint32_t mtu = 0;
    ChildType type{};
};

class Links {
  public:
    virtual ~Links() = default;

    virtual Result<std::optional<Link>> find(const Netns& ns, uint32_t index) = 0;
    virtual Result<std::optional<Link>> find_by_name(const Netns& ns, const std::string& name) = 0;
    // Whether no link of `ns` has the name, or has it any more at the deadline.
    virtual Result<bool> wait_until_free(const Netns& ns,
                                         const std::string& name,
                                         base::Deadline deadline) = 0;
    // All links of a namespace. For a container's, which are few; never for the host's.
    virtual Result<std::vector<Link>> list(const Netns& ns) = 0;
    // The indexes of a bond's or bridge's ports.
    virtual Result<std::vector<uint32_t>> ports_of(const Netns& ns, uint32_t master) = 0;
    // The addresses of one link.
    virtual Result<std::vector<Address>> addresses(const Netns& ns, uint32_t index) = 0;
    // How many receive rules (ethtool -N) somebody gave the link called `name`; 0 if its driver has
    // no such thing. They go along into another namespace.
    virtual Result<uint32_t> receive_rules(const Netns& ns, const std::string& name) = 0;
    // The link of the default route (v4 first, then v6), or nothing.
    virtual Result<std::optional<uint32_t>> default_route_link(const Netns& ns) = 0;

    // Busy if name, index, MAC or VLAN is taken where the link will live or on the parent (before
    // 6.15 an index that the host uses is taken too: choose high ones). Refused if the parent can
    // carry none of this kind, BadInput for a MAC or an MTU that cannot be, Unavailable without
    // parent.
    virtual Result<> create_child(const Netns& host,
                                  const Netns& target,
                                  const ChildSpec& spec) = 0;
    // One that is not there is no error.
    virtual Result<> remove(const Netns& ns, uint32_t index) = 0;
    // The link of a device ("0000:01:10.0") among the links of a container's namespace.
    virtual Result<std::optional<Link>> find_by_device(const Netns& ns,
                                                       const std::string& device) = 0;
    // Moves a link into another namespace and changes it there: one request, in which the kernel
    // moves first (the link is down and has no addresses then), then sets MAC, MTU, name, alias and
    // flags. It may stop half-way: the link is then there, and what stands before the refused value
    // in that order is set, and what stands after it is not. Only a name that is taken there is
    // changed by the move itself. Busy: EEXIST, the name or an altname is taken there, EBUSY, the
    // index is; Refused: EINVAL, it cannot leave its namespace. For BadInput see change().
    virtual Result<> move(const Netns& from,
                          const Netns& to,
                          uint32_t index,
                          const LinkChange& change) = 0;
    // Changes a link where it is. Busy: the name is taken, or the MAC among its siblings; BadInput:
    // a MAC (EADDRNOTAVAIL) or an MTU (EINVAL) that the driver refuses. A link that has the wanted
    // name as an altname (of udev's) loses that: the kernel says EEXIST to it.
    virtual Result<> change(const Netns& ns, uint32_t index, const LinkChange& change) = 0;
    // Brings a link up. A driver that is busy (EBUSY, EAGAIN: its VF is in the reset that a setting
    // of the PF has begun) is asked again until the deadline; then that is the answer: Busy.
    virtual Result<> raise(const Netns& ns, uint32_t index, base::Deadline deadline) = 0;
    // Takes a further name off a link (RTM_DELLINKPROP, 5.5). A name or link that is not there is
    // no error.
    virtual Result<> remove_altname(const Netns& ns, uint32_t index, const std::string& name) = 0;
    // Strict ARP (arp_ignore=1, arp_announce=2 of the link): it answers for its own addresses only,
    // and asks with one of them. Of two links on one network each would answer for both, and an
    // RDMA device takes only the packets that come to its own netdev. Unavailable without link.
    virtual Result<> set_strict_arp(const Netns& ns, uint32_t index) = 0;
    // IPv6 without duplicate address detection (IFA_F_NODAD): usable at once. Busy (EEXIST) if
    // there.
    virtual Result<> add_address(const Netns& ns, uint32_t index, const Address& address) = 0;
    // An address or link that is not there is no error.
    virtual Result<> remove_address(const Netns& ns, uint32_t index, const Address& address) = 0;
};

// The real one.
std::unique_ptr<Links> make_kernel_links();

}  // namespace netns
