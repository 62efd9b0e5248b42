// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "perf/verbs/device.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/perf/fake_verbs.h"

namespace perf {
namespace {

using test::FakeVerbs;

// A /sys that knows types and netdevs of rxe0's GIDs.
class FakeSys {
  public:
    FakeSys() {
        for (const char* kind : {"types", "ndevs"})
            std::filesystem::create_directories(folder(kind));
        std::ofstream(folder("types") + "/1") << "RoCE v2\n";
        std::ofstream(folder("types") + "/0") << "IB/RoCE v1\n";
        std::ofstream(folder("ndevs") + "/1") << "lo\n";
        std::ofstream(folder("ndevs") + "/0") << "eth77\n";
    }

    [[nodiscard]] std::string path() const { return dir_.path(); }

  private:
    [[nodiscard]] std::string folder(const std::string& kind) const {
        return dir_ / ("class/infiniband/rxe0/ports/1/gid_attrs/" + kind);
    }

    test::TempDir dir_;
};

TEST(Identity, IsWhatDriverAndSysfsSay) {
    const test::TempDir sys;
    const std::string folder = sys / "class/infiniband/mlx5_0";
    std::filesystem::create_directories(folder + "/device");
    const auto write = [&](const std::string& name, const std::string& text) {
        std::ofstream(folder + "/" + name) << text << '\n';
    };
    ibv_device_attr attr{};
    attr.vendor_id = 0x2c9;
    attr.vendor_part_id = 0x101d;
    std::strcpy(attr.fw_ver, "22.41.1000");
    write("board_id", "MT_0000000359");
    write("device/current_link_speed", "16.0 GT/s PCIe");
    write("device/current_link_width", "16");
    write("device/numa_node", "1");
    const Identity adapter = identity_of("mlx5_0", attr, sys.path());
    EXPECT_EQ(adapter.part, "02c9:101d");
    EXPECT_EQ(adapter.board, "MT_0000000359");
    EXPECT_EQ(adapter.firmware, "22.41.1000");
    EXPECT_EQ(adapter.pcie, "16.0 GT/s PCIe x16");
    EXPECT_EQ(adapter.numa_node, "1");
    write("device/current_link_speed", "Unknown");
    write("device/current_link_width", "0");
    write("device/numa_node", "-1");
    const Identity function = identity_of("mlx5_0", attr, sys.path());
    EXPECT_EQ(function.pcie, "") << "a virtual function has no link of its own";
    EXPECT_EQ(function.numa_node, "");
    EXPECT_EQ(identity_of("rxe0", attr, sys.path()).board, "") << "sysfs has no such file";
}

TEST(Near, AreTheProcessorsOfTheNodeThatOthersAreLeftOutFor) {
    const test::TempDir sys;
    const std::string folder = sys / "class/infiniband/mlx5_0/device";
    std::filesystem::create_directories(folder);
    const auto near_of = [&](const std::string& list) {
        std::ofstream(folder + "/local_cpulist") << list << '\n';
        return near_processors("mlx5_0", sys.path());
    };
    const auto own = own_processors();
    ASSERT_TRUE(own);
    size_t first = 0;
    while (!CPU_ISSET(first, &*own))
        ++first;
    EXPECT_FALSE(near_of("0-1023")) << "all that there are";
    EXPECT_FALSE(near_of("")) << "not known";
    cpu_set_t others = *own;
    CPU_CLR(first, &others);
    if (CPU_COUNT(&others) != 0) {
        const auto near = near_of(std::to_string(first));
        ASSERT_TRUE(near);
        EXPECT_EQ(CPU_COUNT(&*near), 1);
        EXPECT_TRUE(CPU_ISSET(first, &*near));
        Device device;
        device.near = near;
        EXPECT_EQ(poll_place(device).processors, 1U);
        const auto elsewhere = stay_on(others);
        EXPECT_FALSE(near_of(std::to_string(first))) << "none that this thread may run on";
    }
    EXPECT_FALSE(near_processors("rxe0", sys.path()));
}

TEST(Survey, ReadsTheTableAndTheNetdevs) {
    FakeVerbs verbs;
    const FakeSys sys;
    const auto found = survey(verbs, "", sys.path());
    ASSERT_TRUE(found);
    ASSERT_EQ(found->rows.size(), 2U);
    EXPECT_EQ(found->rows[1].gid.text(), "127.0.0.1");
    EXPECT_EQ(found->rows[1].netdev, "lo");
    EXPECT_TRUE(found->rows[1].netdev_present);
    EXPECT_EQ(found->rows[0].netdev, "eth77");
    EXPECT_FALSE(found->rows[0].netdev_present);
    EXPECT_FALSE(found->addresses.empty());
    EXPECT_EQ(verbs.objects(), 0U);
}

TEST(Survey, KnowsThePortOfAnIpoibInterface) {
    FakeVerbs verbs;
    const test::TempDir sys;
    const std::string lo = sys / "class/net/lo";
    std::filesystem::create_directories(lo + "/device/infiniband/mlx5_1");
    const auto port_of_lo = [&](const std::string& type, const std::string& dev_port) {
        std::ofstream(lo + "/type") << type << "\n";
        std::ofstream(lo + "/dev_port") << dev_port << "\n";
        const auto found = survey(verbs, "", sys.path());
        const auto own = std::ranges::find(found->addresses, "lo", &LocalAddress::netdev);
        return own->device + "/" + std::to_string(own->port);
    };
    EXPECT_EQ(port_of_lo("32", "1"), "mlx5_1/2");
    EXPECT_EQ(port_of_lo("1", "1"), "/0") << "Ethernet";
    EXPECT_EQ(port_of_lo("32", "-1"), "/0");
    EXPECT_EQ(port_of_lo("32", "254"), "/0");
    std::filesystem::create_directories(lo + "/device/infiniband/mlx5_2");
    EXPECT_EQ(port_of_lo("32", "0"), "/0") << "which of two is not known";
}

TEST(Survey, DeviceWithoutATableIsARemark) {
    FakeVerbs verbs;
    verbs.have_no_table();
    const auto found = survey(verbs, "", "/nonexistent");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->rows.empty());
    ASSERT_EQ(found->remarks.size(), 1U);
    EXPECT_NE(found->remarks[0].find("read the GIDs of rxe0"), std::string::npos);
}

TEST(Survey, DeviceOfAnotherNamespaceIsARemark) {
    auto foreign = test::loopback_device("mlx5_0");
    foreign.open_error = EPERM;
    FakeVerbs verbs({foreign, test::loopback_device("rxe0")});
    const auto found = survey(verbs, "", "/nonexistent");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rows.size(), 2U);
    ASSERT_EQ(found->remarks.size(), 1U);
    EXPECT_NE(found->remarks[0].find("in the network namespace that the device belongs to"),
              std::string::npos);
}

TEST(Device, NoneIsAnErrorWithTheTable) {
    auto device = test::loopback_device();
    device.gids = {test::gid_row(1, "192.0.2.77")};
    FakeVerbs verbs({device});
    const auto opened = open_best_device(verbs, {}, {parse_address("10.9.0.1").value()});
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("foreign"), std::string::npos);
    EXPECT_NE(opened.error().fix.find("10.9.0.1"), std::string::npos);
}

TEST(Device, OnlyHardwareHasALinkSpeed) {
    auto device = test::loopback_device();
    device.width = 2;
    device.speed = 32;
    FakeVerbs software({device});
    const std::vector<Address> sources{parse_address("127.0.0.1").value()};
    const auto rxe = open_best_device(software, {}, sources);
    ASSERT_TRUE(rxe) << rxe.error().message();
    EXPECT_EQ(rxe->info.link_bps, 0U);
    device.vendor_id = 0x2c9;
    FakeVerbs hardware({device});
    const auto mlx5 = open_best_device(hardware, {}, sources);
    ASSERT_TRUE(mlx5) << mlx5.error().message();
    EXPECT_EQ(mlx5->info.link_bps, 100'000'000'000U);
}

TEST(Device, NoDeviceAtAllSaysSo) {
    auto device = test::loopback_device();
    device.open_error = EPERM;
    FakeVerbs verbs({device});
    const auto opened = open_best_device(verbs, {}, {});
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().fix.find("no RDMA device"), std::string::npos);
    EXPECT_NE(opened.error().message().find("in the network namespace that the device belongs to"),
              std::string::npos);
}

}  // namespace
}  // namespace perf
