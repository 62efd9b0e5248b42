// SPDX-License-Identifier: Apache-2.0
// The messages of nldev (NETLINK_RDMA, client 5): values to requests, replies to values. No header
// stands behind nlmsghdr; attributes begin at once. Pure: no socket. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>

#include <rdma/rdma_netlink.h>

#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/rdma.h"

namespace netns::nldev {

// Newer than the headers of older systems (6.12).
constexpr int kSysAttrMonitorMode = 103;
constexpr unsigned kGroupNotify = 4;
constexpr uint32_t kQueuePairTypeGsi = 1;  // IB_QPT_GSI

// Makes a request of the nldev client.
netlink::Request request(int command);

// Gives the kernel's refusal of NEWLINK its code and advice.
base::Error explain_new_link(const RdmaLinkSpec& spec, base::Error refusal);

// The answer to SYS_GET.
struct System {
    RdmaNetnsMode mode = RdmaNetnsMode::Shared;
    bool monitor = false;  // events of devices can be heard
};

std::optional<System> parse_system(const netlink::Reply& reply);
// For CMD_GET. Nothing: the message is malformed or of another type.
std::optional<RdmaDevice> parse_device(const netlink::Reply& reply);
// For PORT_GET: the index of the port's netdev, if it is in the namespace of the socket. The
// reply's type is CMD_GET's, so it is not checked.
std::optional<uint32_t> parse_port_netdev(const netlink::Reply& reply);
// For PORT_GET: the port's state, as sysfs spells it; empty if the kernel does not report it.
std::string parse_port_state(const netlink::Reply& reply);
std::optional<CharDevice> parse_chardev(const netlink::Reply& reply);
// For RES_CTX_GET: the number of contexts in this part of the list.
uint32_t count_contexts(const netlink::Reply& reply);
// For RES_QP_GET: whether a GSI QP is in this part of the list.
bool lists_gsi_qp(const netlink::Reply& reply);

}  // namespace netns::nldev
