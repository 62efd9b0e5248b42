// SPDX-License-Identifier: Apache-2.0
// What the modes that make a software RDMA device (softroce; Soft-iWARP) share: the netdev under
// it, its addresses, its names. Read only.
#pragma once

#include "hook/modes/mode.h"

namespace hook {

// The host netdev that an attachment hangs on: rdma.parent, or the default route's.
Result<netns::Link> find_parent(const Attachment& attachment, Site& site);

// The interface that the engine made in the container's namespace (rdma.parent=container).
Result<netns::Link> find_container_link(Site& site);

// The addresses asked for: static ones as they are, `auto` as the first of the pool's ranges that
// nobody holds on this parent.
Result<std::vector<netns::Address>> choose_addresses(const Attachment& attachment,
                                                     const Survey& survey,
                                                     uint32_t parent);

// Name of the lease of an address on a parent.
std::string lease_name(uint32_t parent, const netns::Address& address);

// Names and numbers drawn from the attach's UUID: unique, and known before anything is made.
std::string device_name(const char* prefix, const Attachment& attachment, const Survey& survey);
uint32_t link_index(const Attachment& attachment, const Survey& survey);
// Locally administered, the same at each start of the same container.
netns::Mac stable_mac(const Attachment& attachment, const Survey& survey);

}  // namespace hook
