// SPDX-License-Identifier: Apache-2.0
// The interface of an attachment: the netdev under it, its addresses, routes and names, and the
// steps for them. Read only.
#pragma once

#include "hook/modes/mode.h"
#include "netns/link.h"

namespace hook {

// Advice that turns an iWARP adapter into a RoCE one.
inline constexpr char kIwarpToRoce[] =
    "an E810 can be RoCE instead: devlink dev param set pci/ADDRESS name enable_iwarp value false "
    "cmode runtime, then the same with enable_roce and true";

// An L2 network: a host netdev's, or that of a VLAN there. The VLAN is set if the PF or the bridge
// tags the container's packets (0: neither does). Equal addresses on two of these networks are two
// machines.
struct Segment {
    uint32_t netdev = 0;  // index on the host
    uint16_t vlan = 0;    // 1-4094
};

// Returns Refused: no interface can stand on `what` ("netdev 'ib0'").
base::Error not_ethernet(const std::string& what);

// Returns the host netdev under an attachment: rdma.parent (its name, or that of its RDMA device),
// or the default route's. Unavailable: there is none, or it is down. Refused: see not_ethernet().
Result<netns::Link> find_parent(const Attachment& attachment, Site& site);

// Checks rdma.mtu. BadInput: it is above the MTU of the link under the interface, which is `called`
// "parent" or "PF".
Result<> check_mtu(const Attachment& attachment, const netns::Link& upon, const char* called);

// Returns the interface that the engine made in the container's namespace (rdma.parent=container):
// the default route's, else the only one. Unavailable: there is none. Refused: there are several.
Result<netns::Link> find_container_link(Site& site);

// Returns the bridge of the host that has the other end of the container's veth as a port; nothing
// if there is none.
Result<std::optional<netns::Link>> find_bridge_of(const netns::Link& link, Site& site);

// Checks the ports of a bridge. Refused: RoCE over `mtu` sends packets that a port is too small
// for, and a bridge drops those without a word. Ports of other containers (veth) do not count:
// those containers choose them.
Result<> check_bridge_ports(const netns::Link& bridge,
                            uint32_t mtu,
                            const std::string& fix,
                            Site& site);

// Returns the addresses asked for. Static ones stay as they are. `auto` gives the first address of
// each of the pool's ranges that is free. Such an address has no lease on any network. Neither the
// parent nor, as far as the survey knows, any other station has it. BadInput: there is no pool with
// a range. Busy: no address of a range is free.
Result<std::vector<netns::Address>> choose_addresses(const Attachment& attachment,
                                                     const Survey& survey,
                                                     uint32_t parent);

// Returns the GID that names the container: that of its first address, v4 before v6, else the
// link-local one.
netns::Gid main_gid(const std::vector<netns::Address>& addresses, const netns::Mac& mac);

// The functions below add the steps for the endpoint's interface, once its addresses, index and
// device name are known.

// Adds claims of the addresses on an L2 network. They count as claims of the plan.
void claim_addresses(Plan& plan, const Survey& survey, const Segment& segment);
// Adds a step that asks the network for the addresses before they are taken, if the pool or the
// mode wants it.
void probe_addresses(Plan& plan, const Attachment& attachment, const Survey& survey);
// Adds strict ARP and the endpoint's addresses.
void add_addresses(Plan& plan);
// Adds the steps for rdma.gateway and rdma.routes, and those that keep several rails apart. They
// come after those for the endpoint's addresses.
//
// rdma.routes go into the main table, which every packet may use. A gateway goes into the
// interface's own table, in which only packets from its addresses look. So the container's default
// route stays as the engine made it. RoCE always sends from its GID's address and so finds its
// router. A rail beside others has such a table in any case. Two rails on one network have one
// route in the main table, and the second rail's packets would leave through the first.
void add_routes(Plan& plan, const Attachment& attachment);

// Returns a name drawn from the attach's UUID: unique, and known before anything is made.
std::string device_name(const char* prefix, const Attachment& attachment, const Survey& survey);
// Returns an index for an interface that is made in the container or moves into it. The index is
// between 2^15 and 2^16 - 1: Open MPI's daemons keep an index in 16 bits (PRRTE, if.h). Neither the
// container's network nor the host has it; before 6.15 the kernel looks it up on the host. Busy: no
// such index was found.
Result<uint32_t> link_index(const Attachment& attachment, const Survey& survey);
// Returns a locally administered MAC, the same at each start of the same container. The parent's
// own MAC is part of it. Containers on several hosts of one network may have bundles of the same
// path, as on the nodes of a cluster.
netns::Mac stable_mac(const Attachment& attachment, const Survey& survey, const netns::Mac& parent);

}  // namespace hook
