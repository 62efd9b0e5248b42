// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/eight_gpus.h"

namespace test {

namespace {
netns::PciPlace place_at(const std::string& root, int node, std::vector<std::string> bridges) {
    return {.root = root, .bridges = std::move(bridges), .numa_node = node};
}

netns::PciCard make_gpu(const std::string& address, netns::PciPlace place) {
    return {.address = address,
            .pci_class = 0x030200,
            .vendor = 0x10de,
            .device = 0x20b0,
            .driver = "nvidia",
            .pf = {},
            .rdma_names = {},
            .iommu = "identity",
            .place = std::move(place)};
}

netns::PciCard make_adapter(const std::string& address,
                            const std::string& rdma,
                            netns::PciPlace place,
                            const std::string& pf = "") {
    return {.address = address,
            .pci_class = 0x020700,
            .vendor = 0x15b3,
            .device = static_cast<uint16_t>(pf.empty() ? 0x101b : 0x101c),
            .driver = "mlx5_core",
            .pf = pf,
            .rdma_names = {rdma},
            .iommu = "identity",
            .place = std::move(place)};
}
}  // namespace

std::vector<netns::PciCard> eight_gpus() {
    const std::string a = "pci0000:0a";
    const std::string b = "pci0000:40";
    const std::string c = "pci0000:80";
    const std::string d = "pci0000:c0";
    // The BMC's display is no GPU.
    netns::PciCard bmc =
        make_gpu("0000:03:00.0", place_at("pci0000:00", 0, {"0000:00:01.1", "0000:02:00.0"}));
    bmc.pci_class = 0x030000;
    bmc.vendor = 0x1a03;
    bmc.device = 0x2000;
    bmc.driver = "ast";
    return {
        bmc,
        make_adapter("0000:04:00.0", "mlx5_7", place_at("pci0000:00", 0, {"0000:00:03.1"})),
        make_gpu("0000:0f:00.0", place_at(a, 0, {"0000:0a:01.1", "0000:0b:00.0", "0000:0c:00.0"})),
        make_gpu("0000:10:00.0", place_at(a, 0, {"0000:0a:01.1", "0000:0b:00.0", "0000:0c:04.0"})),
        make_adapter(
            "0000:14:00.0",
            "mlx5_0",
            place_at(
                a,
                0,
                {"0000:0a:01.1", "0000:0b:00.0", "0000:0c:08.0", "0000:11:00.0", "0000:12:00.0"})),
        make_adapter(
            "0000:15:00.0",
            "mlx5_1",
            place_at(
                a,
                0,
                {"0000:0a:01.1", "0000:0b:00.0", "0000:0c:08.0", "0000:11:00.0", "0000:12:04.0"})),
        make_gpu("0000:43:00.0", place_at(b, 0, {"0000:40:01.1", "0000:41:00.0", "0000:42:00.0"})),
        make_gpu("0000:44:00.0", place_at(b, 0, {"0000:40:01.1", "0000:41:00.0", "0000:42:04.0"})),
        make_adapter("0000:45:00.0",
                     "mlx5_2",
                     place_at(b, 0, {"0000:40:01.1", "0000:41:00.0", "0000:42:08.0"})),
        make_adapter("0000:45:00.1",
                     "mlx5_8",
                     place_at(b, 0, {"0000:40:01.1", "0000:41:00.0", "0000:42:08.0"}),
                     "0000:45:00.0"),
        make_adapter("0000:46:00.0",
                     "mlx5_3",
                     place_at(b, 0, {"0000:40:01.1", "0000:41:00.0", "0000:42:0c.0"})),
        make_gpu("0000:85:00.0", place_at(c, 1, {"0000:80:01.1", "0000:81:00.0", "0000:82:00.0"})),
        make_gpu("0000:86:00.0", place_at(c, 1, {"0000:80:01.1", "0000:81:00.0", "0000:82:04.0"})),
        make_adapter(
            "0000:89:00.0",
            "mlx5_4",
            place_at(
                c,
                1,
                {"0000:80:01.1", "0000:81:00.0", "0000:82:08.0", "0000:87:00.0", "0000:88:00.0"})),
        make_adapter(
            "0000:8a:00.0",
            "mlx5_5",
            place_at(
                c,
                1,
                {"0000:80:01.1", "0000:81:00.0", "0000:82:08.0", "0000:87:00.0", "0000:88:04.0"})),
        make_gpu("0000:c1:00.0", place_at(d, 1, {"0000:c0:01.1"})),
        make_gpu("0000:c2:00.0", place_at(d, 1, {"0000:c0:03.1"})),
        make_adapter("0000:c3:00.0", "mlx5_6", place_at(d, 1, {"0000:c0:05.1"})),
    };
}

}  // namespace test
