// SPDX-License-Identifier: Apache-2.0
// Traffic control in hardware: whether a netdev takes tc rules into its NIC (the feature
// hw-tc-offload: ethtool netlink, 5.7), and what became of the flower rules at its ingress
// (tc-flower(8), RTM_GETTFILTER). Kernels 6.1 to 7.3.
#pragma once

#include <cstdint>
#include <memory>

#include "netns/namespace.h"

namespace netns {

// The feature hw-tc-offload of a netdev.
struct TcFeature {
    bool on = false;
    bool fixed = false;  // it cannot be changed: compiled out (mlx5 without MLX5_CLS_ACT), or no
                         // such hardware
    bool operator==(const TcFeature&) const = default;
};

// The flower rules at a netdev's ingress.
struct TcRules {
    uint32_t rules = 0;
    uint32_t in_hw = 0;       // of them, those that hardware has
    uint32_t skip_sw = 0;     // of them, those that software is not to look at
    uint64_t packets = 0;     // that the rules have seen, in hardware and in software
    uint64_t hw_packets = 0;  // of them, in hardware; 0 also where the driver does not tell
    bool operator==(const TcRules&) const = default;
};

class TcOffload {
  public:
    virtual ~TcOffload() = default;

    // Unavailable without link.
    virtual Result<TcFeature> feature(const Netns& ns, uint32_t link) = 0;
    // Unsupported if it is fixed; that it is so already is no error.
    virtual Result<> set_feature(const Netns& ns, uint32_t link, bool on) = 0;
    // All zero for a link without ingress rules. Reads all rules: for rdmactl, never for a hook.
    virtual Result<TcRules> rules(const Netns& ns, uint32_t link) = 0;
};

std::unique_ptr<TcOffload> make_kernel_tc_offload();

}  // namespace netns
