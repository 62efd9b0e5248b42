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

// The host netdev that an attachment hangs on: rdma.parent (its name, or that of its RDMA device),
// or the default route's.
Result<netns::Link> find_parent(const Attachment& attachment, Site& site);

// BadInput if rdma.mtu is above the MTU of what the interface hangs on: its "parent" or its "PF".
Result<> check_mtu(const Attachment& attachment, const netns::Link& upon, const char* called);

// The interface that the engine made in the container's namespace (rdma.parent=container).
Result<netns::Link> find_container_link(Site& site);

// The addresses asked for: static ones as they are, `auto` as the first of the pool's ranges that
// nobody holds on this parent, and nobody else on its network as far as the survey knows.
Result<std::vector<netns::Address>> choose_addresses(const Attachment& attachment,
                                                     const Survey& survey,
                                                     uint32_t parent);

// The GID that names the container: its first address, v4 before v6, else the link-local one.
netns::Gid main_gid(const std::vector<netns::Address>& addresses, const netns::Mac& mac);

// The steps for the endpoint's interface, once its addresses, index and device name are known.
// Claims on the L2 network of a host netdev; counted as claims.
void claim_addresses(Plan& plan, const Survey& survey, uint32_t parent);
// If the pool or the mode wants it: asks the network for the addresses before they are taken.
void probe_addresses(Plan& plan, const Attachment& attachment, const Survey& survey);
void add_addresses(Plan& plan);

// Name of the lease of an address on a parent.
std::string lease_name(uint32_t parent, const netns::Address& address);

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
