// SPDX-License-Identifier: Apache-2.0
// PciTree reads where GPUs and RDMA adapters sit among the bridges of PCI. Read only. Sources:
// Documentation/ABI/testing/sysfs-bus-pci and sysfs-kernel-iommu_groups; PCI Express Base
// Specification 6.0, 7.7.11 (ACS); NVIDIA, "GPUDirect RDMA", "PCI Express peer to peer".
//
// Facts about kernels and machines:
// - A function's folder lies below those of the bridges above it. The outermost is the host
//   bridge's ("pci0000:17"): processors have several. A switch is an upstream port with downstream
//   ports below, each a bridge, so two functions of one switch share its upstream port.
// - A bridge made by a driver (VMD) has a host bridge of its own, below a function of the outer.
// - numa_node is -1 where the firmware does not say, and on machines with one node.
// - In a virtual machine the tree is the hypervisor's, which rarely is the machine's.
// - ACS redirects send a transfer between two devices of a switch up to the processor, where the
//   IOMMU checks it. It is slower there, or refused. Kernels set them when an IOMMU translates.
// - Only root reads a configuration space beyond its first 64 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/result.h"

namespace netns {

using base::Result;

struct PciPlace {
    std::string root;                  // the host bridge: "pci0000:17"
    std::vector<std::string> bridges;  // addresses, from the root port down
    int numa_node = -1;                // -1: unknown
    bool operator==(const PciPlace&) const = default;
};

// A GPU, another accelerator, or a function with RDMA devices.
struct PciCard {
    std::string address;     // "0000:1b:00.0"
    uint32_t pci_class = 0;  // base class, subclass, interface: 0x030200
    uint16_t vendor = 0;
    uint16_t device = 0;
    std::string driver;                   // empty: none is bound
    std::string pf;                       // VF: its PF's address; else empty
    std::vector<std::string> rdma_names;  // in the host's namespace
    std::string iommu;                    // the type of its IOMMU group: "identity", "DMA",
                                          // "DMA-FQ"; empty: there is no IOMMU
    PciPlace place;
    bool operator==(const PciCard&) const = default;
};

// Bits of a bridge's ACS control that send transfers between devices to the processor: request
// redirect, completion redirect, upstream forwarding.
inline constexpr uint16_t kAcsRedirects = 0x1c;

class PciTree {
  public:
    virtual ~PciTree() = default;

    // Returns the display controllers (class 03), processing accelerators (class 12) and functions
    // with RDMA devices, in the order of their addresses. Reads the class of every function.
    virtual Result<std::vector<PciCard>> cards() = 0;
    // Returns the place of a function; nothing if there is none at this address.
    virtual Result<std::optional<PciPlace>> place(const std::string& address) = 0;
    // Returns a bridge's ACS control; nothing if it has none, or none can be read.
    virtual Result<std::optional<uint16_t>> acs(const std::string& bridge) = 0;
};

// `sys` is where sysfs is mounted.
std::unique_ptr<PciTree> make_kernel_pci_tree(std::string sys = "/sys");

}  // namespace netns
