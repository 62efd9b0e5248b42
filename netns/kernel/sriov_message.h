// SPDX-License-Identifier: Apache-2.0
// The messages of rtnetlink(7) about VFs: IFLA_VFINFO_LIST of a PF's netdev (net/core/rtnetlink.c,
// rtnl_fill_vfinfo and do_setvfinfo; kernels 6.1 to 7.3). Pure: no socket. Private to netns/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/sriov.h"

namespace netns {

// RTM_GETLINK: the PF's netdev with its VFs, without their statistics.
netlink::Request vf_list_request(uint32_t pf);
// How many VFs the PF has.
uint32_t count_vfs(const netlink::Reply& reply);
// What the reply says of a VF; nothing if it does not list it.
std::optional<VfSettings> parse_vf(const netlink::Reply& reply, uint32_t number);

// One change, and how it is named in an error.
struct VfRequest {
    std::string setting;  // "trust"
    netlink::Request request;
};

// RTM_SETLINK, one for each setting that is given, in the order of sriov.h: the kernel would stop
// at the first refusal within one request, and not say which it was.
std::vector<VfRequest> vf_requests(uint32_t pf, uint32_t number, const VfSettings& change);

}  // namespace netns
