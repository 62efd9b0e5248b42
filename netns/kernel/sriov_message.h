// SPDX-License-Identifier: Apache-2.0
// The messages of rtnetlink(7) about VFs: IFLA_VFINFO_LIST of a PF's netdev (net/core/rtnetlink.c,
// rtnl_fill_vfinfo and do_setvfinfo; kernels 6.1 to 7.3). Pure: no socket. Private to
// netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/sriov.h"

namespace netns {

// RTM_GETLINK: asks for the PF's netdev with its VFs, without their statistics.
netlink::Request vf_list_request(uint32_t pf);
// Returns the number of the PF's VFs.
uint32_t count_vfs(const netlink::Reply& reply);
// Returns the settings of a VF; nothing if the reply does not list it.
std::optional<VfSettings> parse_vf(const netlink::Reply& reply, uint32_t number);

// One change, and its name in errors.
struct VfRequest {
    std::string setting;  // "trust"
    netlink::Request request;
};

// RTM_SETLINK: one request for each given setting, in the order of sriov.h. In a single request the
// kernel would stop at the first refusal without naming it.
std::vector<VfRequest> vf_requests(uint32_t pf, uint32_t number, const VfSettings& change);
// The kernel's refusal of a setting with the code of sriov.h, and with advice.
base::Error explain_setting(const std::string& setting, base::Error refusal);

}  // namespace netns
