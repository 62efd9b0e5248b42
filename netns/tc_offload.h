// SPDX-License-Identifier: Apache-2.0
// TcOffload reads and sets whether a netdev offloads tc rules to its NIC: the feature hw-tc-offload
// (ethtool netlink, 5.7). It also counts the flower rules at a netdev's ingress, in hardware and in
// software (tc-flower(8), RTM_GETTFILTER). Kernels 6.1 to 7.3.
#pragma once

#include <cstdint>
#include <memory>

#include "netns/namespace.h"

namespace netns {

// The feature hw-tc-offload of a netdev.
struct TcFeature {
    bool on = false;
    bool fixed = false;  // unchangeable: compiled out (mlx5 without MLX5_CLS_ACT), or no such
                         // hardware
    bool operator==(const TcFeature&) const = default;
};

// The flower rules at a netdev's ingress.
struct TcRules {
    uint32_t rules = 0;
    uint32_t in_hw = 0;       // rules that hardware has
    uint32_t skip_sw = 0;     // rules that software ignores
    uint64_t packets = 0;     // packets that matched, in hardware and in software
    uint64_t hw_packets = 0;  // packets that matched in hardware; 0 also if the driver reports none
    bool operator==(const TcRules&) const = default;
};

class TcOffload {
  public:
    virtual ~TcOffload() = default;

    // Reads the feature. Unavailable: no such link.
    virtual Result<TcFeature> feature(const Netns& ns, uint32_t link) = 0;
    // Sets the feature; setting the present value is no error. Unsupported: it is fixed.
    virtual Result<> set_feature(const Netns& ns, uint32_t link, bool on) = 0;
    // Counts the rules; all zero for a link without ingress rules. Reads every rule: for rdmactl,
    // never for a hook.
    virtual Result<TcRules> rules(const Netns& ns, uint32_t link) = 0;
};

std::unique_ptr<TcOffload> make_kernel_tc_offload();

}  // namespace netns
