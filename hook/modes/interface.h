// SPDX-License-Identifier: Apache-2.0
// The interface of an attachment: the netdev under it, its addresses, its names, and the steps for
// them. Read only.
#pragma once

#include "hook/modes/mode.h"
#include "netns/link.h"

namespace hook {

// What lets an adapter of iWARP be one of RoCE.
inline constexpr char kIwarpToRoce[] =
    "an E810 can be RoCE instead: devlink dev param set pci/ADDRESS name enable_iwarp value false "
    "cmode runtime, then the same with enable_roce and true";

// An L2 network: of a host netdev, and there of a VLAN, if it is the PF or the bridge that tags
// what a container sends (0: nobody does). Equal addresses on two of them are two machines.
struct Segment {
    uint32_t netdev = 0;
    uint16_t vlan = 0;
};

// Refused: no interface can stand on `what` ("netdev 'ib0'").
base::Error not_ethernet(const std::string& what);

// The host netdev that an attachment hangs on: rdma.parent (its name, or that of its RDMA device),
// or the default route's.
Result<netns::Link> find_parent(const Attachment& attachment, Site& site);

// BadInput if rdma.mtu is above the MTU of what the interface hangs on: its "parent" or its "PF".
Result<> check_mtu(const Attachment& attachment, const netns::Link& upon, const char* called);

// The interface that the engine made in the container's namespace (rdma.parent=container).
Result<netns::Link> find_container_link(Site& site);

// The bridge of the host that an interface of the container's is a port of, by a veth's other end.
Result<std::optional<netns::Link>> find_bridge_of(const netns::Link& link, Site& site);

// Refused if RoCE over `mtu` sends packets that a port of the bridge is too small for: a bridge
// drops those without a word. Other containers' ports (veth) are theirs to choose.
Result<> check_bridge_ports(const netns::Link& bridge,
                            uint32_t mtu,
                            const std::string& fix,
                            Site& site);

// The addresses asked for: static ones as they are, `auto` as the first of the pool's ranges that
// no lease has on whatever network, nor the parent, nor anybody else as far as the survey knows.
Result<std::vector<netns::Address>> choose_addresses(const Attachment& attachment,
                                                     const Survey& survey,
                                                     uint32_t parent);

// The GID that names the container: its first address, v4 before v6, else the link-local one.
netns::Gid main_gid(const std::vector<netns::Address>& addresses, const netns::Mac& mac);

// The steps for the endpoint's interface, once its addresses, index and device name are known.
// Claims on an L2 network; counted as claims.
void claim_addresses(Plan& plan, const Survey& survey, const Segment& segment);
// If the pool or the mode wants it: asks the network for the addresses before they are taken.
void probe_addresses(Plan& plan, const Attachment& attachment, const Survey& survey);
void add_addresses(Plan& plan);

// Drawn from the attach's UUID: unique, and known before anything is made.
std::string device_name(const char* prefix, const Attachment& attachment, const Survey& survey);
// Of an interface that is made in the container or moves into it. From 2^15 to 2^16 - 1: Open MPI's
// daemons keep an index in 16 bits (PRRTE, if.h). None that the container's network has, nor the
// host, where the kernel looks it up before 6.15. Busy if that finds none.
Result<uint32_t> link_index(const Attachment& attachment, const Survey& survey);
// Locally administered, the same at each start of the same container. The parent's own is part of
// it: hosts on one network may have containers with bundles of the same path, as the nodes of a
// cluster do.
netns::Mac stable_mac(const Attachment& attachment, const Survey& survey, const netns::Mac& parent);

}  // namespace hook
