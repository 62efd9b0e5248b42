// SPDX-License-Identifier: Apache-2.0
// GPUs and RDMA adapters: how far apart they are, which adapter is for which GPU, and the device
// that a container gets by rdma.device=near:GPU. GPUs count in the order of their addresses, as
// nvidia-smi numbers them (CUDA_DEVICE_ORDER=PCI_BUS_ID). Read only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hook/request/request.h"
#include "hook/state/context.h"
#include "netns/pci_tree.h"

namespace hook {

// In the words of `nvidia-smi topo` and NCCL.
enum class Distance {
    Pix,   // at most one bridge on each side of a switch
    Pxb,   // several bridges, below one root port
    Phb,   // through the host bridge
    Node,  // through host bridges of one NUMA node
    Sys,   // through several NUMA nodes
};

std::string_view name_of(Distance distance);

Distance distance(const netns::PciPlace& a, const netns::PciPlace& b);

// Returns the GPUs among the cards: display controllers of AMD, Intel and NVIDIA (the display of a
// server's BMC is none), and processing accelerators. VFs are left out.
std::vector<netns::PciCard> gpus_of(const std::vector<netns::PciCard>& cards);

// Returns the index of the nearest place for GPU number `gpu`. Of several that are equally near,
// the GPUs that have these in common take one after the other. `places` has one at least.
size_t nearest(const std::vector<netns::PciCard>& gpus,
               size_t gpu,
               const std::vector<netns::PciPlace>& places);

// Returns the PCI function, among these, that is nearest to a GPU, which is named by its number
// ("0") or its PCI address. `cards` are those of the tree. BadInput: the name is neither.
// Unavailable: there is no such GPU, or none of the functions is there.
Result<std::string> nearest_function(netns::PciTree& tree,
                                     const std::vector<netns::PciCard>& cards,
                                     std::string_view gpu,
                                     const std::vector<std::string>& functions);

// Returns the request with a device in the place of each "near:GPU": the nearest of those that the
// attachment's pool lists, else of those that its policy lists, else of the adapters of the host
// that the mode can give. Attachments of a mode that has its HCA in `parent` get it there. Devices
// are spelled as in the list, else by their RDMA names. Two GPUs may be near one device, which is
// there once then. Reads the tree of PCI if a device is near a GPU, and nothing else.
// Unavailable: there is no such GPU, or no such device.
Result<Request> choose_near(const Context& context, Request request);

}  // namespace hook
