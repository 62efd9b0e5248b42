// SPDX-License-Identifier: Apache-2.0
// Network devices and their addresses, by rtnetlink(7). Devices are named by index within a
// namespace, never by name. Relies on: a chosen ifindex in RTM_NEWLINK (3.7), IFLA_NET_NS_FD (3.0),
// NETLINK_GET_STRICT_CHK filters on dumps (4.20), RTM_F_FIB_MATCH (4.13). Never enters a namespace
// for longer than it takes to open a socket there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/address.h"
#include "netns/namespace.h"

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
    uint32_t parent = 0;  // IFLA_LINK, an index in the parent's namespace; 0 if none
    bool operator==(const Link&) const = default;
};

// A macvlan in bridge mode, made on `parent` (an index in the host's namespace) directly inside the
// target namespace, under the index, name and MAC given, and up.
struct MacvlanSpec {
    uint32_t parent = 0;
    uint32_t index = 0;
    std::string name;
    Mac mac;
    uint32_t mtu = 0;
};

class Links {
  public:
    virtual ~Links() = default;

    virtual Result<std::optional<Link>> find(const Netns& ns, uint32_t index) = 0;
    virtual Result<std::optional<Link>> find_by_name(const Netns& ns, const std::string& name) = 0;
    // All links of a namespace. For a container's, which are few; never for the host's.
    virtual Result<std::vector<Link>> list(const Netns& ns) = 0;
    // The addresses of one link.
    virtual Result<std::vector<Address>> addresses(const Netns& ns, uint32_t index) = 0;
    // The link of the default route (v4 first, then v6), or nothing.
    virtual Result<std::optional<uint32_t>> default_route_link(const Netns& ns) = 0;

    // Busy if name, index or MAC is taken where the link will live (before 6.15 an index that the
    // host uses is taken too: choose high ones). Refused if the parent can carry no macvlan,
    // BadInput for a MAC or an MTU that cannot be, Unavailable without parent.
    virtual Result<> create_macvlan(const Netns& host,
                                    const Netns& target,
                                    const MacvlanSpec& spec) = 0;
    // One that is not there is no error.
    virtual Result<> remove(const Netns& ns, uint32_t index) = 0;
    // IPv6 without duplicate address detection (IFA_F_NODAD): usable at once. Busy (EEXIST) if
    // there.
    virtual Result<> add_address(const Netns& ns, uint32_t index, const Address& address) = 0;
    // An address or link that is not there is no error.
    virtual Result<> remove_address(const Netns& ns, uint32_t index, const Address& address) = 0;
};

// The real one.
std::unique_ptr<Links> make_kernel_links();

}  // namespace netns
