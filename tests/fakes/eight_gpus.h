// SPDX-License-Identifier: Apache-2.0
// A host with eight GPUs, made by hand: two sockets, and all distances that the legend of
// `nvidia-smi topo -m` has.
//
//   node 0   GPU 0, GPU 1   one switch; mlx5_0 and mlx5_1 behind a second one below it   PXB
//            GPU 2, GPU 3   one switch with mlx5_2 and mlx5_3                            PIX
//            mlx5_7         on a root port of its own, beside the BMC's display          NODE
//   node 1   GPU 4, GPU 5   one switch; mlx5_4 and mlx5_5 behind a second one below it   PXB
//            GPU 6, GPU 7   each on a root port, as mlx5_6 is                            PHB
//
// mlx5_8 is a VF of mlx5_2's function. The cards are those of tests/data/sysfs/eight-gpus.
#pragma once

#include <vector>

#include "netns/pci_tree.h"

namespace test {

std::vector<netns::PciCard> eight_gpus();

}  // namespace test
