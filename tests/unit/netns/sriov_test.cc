// SPDX-License-Identifier: Apache-2.0
// PCI functions in trees of sysfs: tests/data/sysfs.
#include "netns/sriov.h"

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

#include "netns/kernel/sysfs.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/netns/listed_tree.h"

namespace netns {
namespace {

namespace fs = std::filesystem;

class SriovTree : public testing::Test {
  protected:
    void plant(const std::string& name) { test::plant_listing(root_.path(), name); }

    void plant_line(const std::string& line) { test::plant_line(root_.path(), line); }

    PciFunction function(const std::string& address) {
        const auto found = room_->find(address);
        EXPECT_TRUE(found && *found) << address;
        return found && *found ? **found : PciFunction{};
    }

    std::string text(const std::string& path) {
        return SysTree::at(root_.path()).value().read(path).value().value_or("-");
    }

    test::TempDir root_;
    std::unique_ptr<Sriov> room_ = make_kernel_sriov(root_.path());
};

PciNetdev netdev(const std::string& name,
                 uint32_t index,
                 uint32_t port,
                 const std::string& port_name = {}) {
    return {name, index, port, port_name};
}

TEST_F(SriovTree, RecordedIgb) {
    plant("igb");
    const PciFunction pf = function("0000:01:00.0");
    EXPECT_EQ(pf.driver, "igb");
    EXPECT_EQ(pf.total_vfs, 7U);
    EXPECT_EQ(pf.num_vfs, 4U);
    EXPECT_EQ(pf.numa_node, -1);
    EXPECT_EQ(pf.netdevs, std::vector<PciNetdev>{netdev("enp1s0", 3, 0)});
    const PciFunction vf = function("0000:01:10.6");
    EXPECT_EQ(vf.pf, "0000:01:00.0");
    EXPECT_EQ(vf.number, 3U);
    EXPECT_EQ(vf.total_vfs, 0U);
    EXPECT_EQ(vf.driver, "igbvf");
    EXPECT_EQ(room_->find_vf("0000:01:00.0", 3).value(), "0000:01:10.6");
    EXPECT_FALSE(room_->find_vf("0000:01:00.0", 4).value());
    EXPECT_EQ(room_->find_by_netdev("enp1s0v3").value(), "0000:01:10.6");
}

TEST_F(SriovTree, ConnectX5) {
    plant("connectx5-legacy");
    const PciFunction vf = function("0000:3b:00.2");
    EXPECT_EQ(vf.pf, "0000:3b:00.0");
    EXPECT_EQ(vf.number, 0U);
    EXPECT_EQ(vf.numa_node, -1) << "asked of its PF";
    EXPECT_EQ(function(vf.pf).numa_node, 0);
    EXPECT_EQ(vf.netdevs, std::vector<PciNetdev>{netdev("ens1f0v0", 10, 0)});
    EXPECT_EQ(vf.rdma_names, std::vector<std::string>{"mlx5_2"});
    EXPECT_EQ(function("0000:3b:00.3").driver, "") << "none is bound";
    EXPECT_EQ(room_->find_by_rdma("mlx5_2").value(), "0000:3b:00.2");
    const auto pfs = room_->list_pfs().value();
    ASSERT_EQ(pfs.size(), 2U);
    EXPECT_EQ(pfs[0].address, "0000:3b:00.0");
    EXPECT_EQ(pfs[1].num_vfs, 0U);
}

TEST_F(SriovTree, RepresentorsAreNoNetdevsOfTheFunction) {
    plant("connectx5-switchdev");
    EXPECT_EQ(function("0000:3b:00.0").netdevs,
              std::vector<PciNetdev>{netdev("ens1f0np0", 4, 0, "p0")});
    EXPECT_EQ(function("0000:3b:00.2").netdevs, std::vector<PciNetdev>{netdev("ens1f0v0", 10, 0)});
}

TEST_F(SriovTree, UplinksAreTheFirstNetdevs) {
    plant("connectx5-switchdev");
    const std::string net = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/";
    plant_line(net + "aux0/ifindex = 3");
    EXPECT_EQ(function("0000:3b:00.0").netdevs,
              (std::vector<PciNetdev>{netdev("ens1f0np0", 4, 0, "p0"), netdev("aux0", 3, 0)}));
}

// By the switch that they share, and not by a device: before 6.10 bnxt's have none.
TEST_F(SriovTree, RepresentorsAreOfTheSwitchOfTheirPf) {
    plant("connectx5-switchdev");
    const std::string net = "devices/virtual/net/";
    for (const auto& [name, id, port] : {std::tuple{"eth7", "04d49b0003cc3b04", "pf0vf7"},
                                         {"eth8", "0000000000000001", "pf0vf8"},
                                         {"eth9", "04d49b0003cc3b04", "p1"},
                                         {"veth1", "", ""}}) {
        plant_line(net + name + "/ifindex = 3" + std::string(1, name[3]));
        plant_line(net + name + "/phys_switch_id = " + id);
        plant_line(net + name + "/phys_port_name = " + port);
        plant_line(std::string("class/net/") + name + " -> ../../" + net + name);
    }
    EXPECT_EQ(room_->representors("0000:3b:00.0").value(),
              (std::vector<PciNetdev>{netdev("ens1f0npf0vf0", 20, 0, "pf0vf0"),
                                      netdev("ens1f0npf0vf1", 21, 0, "pf0vf1"),
                                      netdev("eth7", 37, 0, "pf0vf7")}));
    plant("e810");  // in mode legacy: no switch
    for (const char* pf : {"0000:ca:00.0", "0000:77:00.0", ".."})
        EXPECT_TRUE(room_->representors(pf).value().empty()) << pf;
}

TEST_F(SriovTree, AVfInAContainerHasNothingHere) {
    plant("connectx6-vf-in-container");
    const PciFunction vf = function("0000:d8:00.1");
    EXPECT_EQ(vf.driver, "mlx5_core");
    EXPECT_TRUE(vf.netdevs.empty());
    EXPECT_TRUE(vf.rdma_names.empty());
    EXPECT_EQ(function("0000:d8:00.0").rdma_names, std::vector<std::string>{"rocep216s0"});
}

TEST_F(SriovTree, OneFunctionWithTwoPorts) {
    plant("connectx3-two-ports");
    EXPECT_EQ(function("0000:05:00.0").netdevs,
              (std::vector<PciNetdev>{netdev("storage", 6, 0), netdev("fabric", 7, 1)}));
    for (const char* name : {"storage", "fabric"})
        EXPECT_EQ(room_->find_by_netdev(name).value(), "0000:05:00.0");
    for (const char* name : {"eth0", "lo"})
        EXPECT_FALSE(room_->find_by_netdev(name).value()) << name;
    EXPECT_FALSE(room_->find_by_rdma("rxe0").value());
}

TEST_F(SriovTree, InfiniBandAndE810) {
    plant("infiniband");
    plant("e810");
    EXPECT_EQ(function("0000:af:00.1").netdevs, std::vector<PciNetdev>{netdev("ibp175s0v0", 9, 0)});
    EXPECT_EQ(function("0000:ca:01.1").driver, "vfio-pci");
    EXPECT_EQ(function("0000:ca:01.1").number, 1U);
    EXPECT_EQ(function("0000:ca:00.0").total_vfs, 128U);
    EXPECT_EQ(room_->list_pfs().value().size(), 2U);
}

TEST_F(SriovTree, AFunctionOfAnotherBusMayHaveVfs) {
    plant_line("bus/netdevsim/devices/netdevsim1/sriov_numvfs = 2");
    plant_line("bus/netdevsim/devices/netdevsim1/net/eni1np1/ifindex = 5");
    const PciFunction pf = function("netdevsim/netdevsim1");
    EXPECT_EQ(pf.num_vfs, 2U);
    EXPECT_EQ(pf.netdevs, std::vector<PciNetdev>{netdev("eni1np1", 5, 0)});
}

TEST_F(SriovTree, HostileNamesAreNothing) {
    plant("igb");
    plant_line("secret/device -> ../bus/pci/devices/0000:01:00.0");
    for (const char* address :
         {"", "..", "0000:01:00.0/", "0000:01:00.0/net", "../devices/0000:01:00.0", "0000:01:00.8"})
        EXPECT_FALSE(room_->find(address).value()) << address;
    for (const char* name : {"", ".", "..", "../../secret", "enp1s0/device"})
        EXPECT_FALSE(room_->find_by_netdev(name).value()) << name;
    EXPECT_FALSE(room_->find_vf("../0000:01:00.0", 0).value());
}

TEST_F(SriovTree, OrdersAreWrittenWhereTheyBelong) {
    plant("connectx5-legacy");
    ASSERT_TRUE(room_->set_num_vfs("0000:3b:00.1", 4));
    EXPECT_EQ(text("bus/pci/devices/0000:3b:00.1/sriov_numvfs"), "4");
    ASSERT_TRUE(room_->unbind("0000:3b:00.2"));
    EXPECT_EQ(text("bus/pci/drivers/mlx5_core/unbind"), "0000:3b:00.2");
    ASSERT_TRUE(room_->unbind("0000:3b:00.3")) << "none is bound";
    EXPECT_EQ(text("bus/pci/drivers/mlx5_core/unbind"), "0000:3b:00.2");
    ASSERT_TRUE(room_->bind("0000:3b:00.3", "mlx5_core"));
    EXPECT_EQ(text("bus/pci/drivers/mlx5_core/bind"), "0000:3b:00.3");
    ASSERT_TRUE(room_->bind("0000:3b:00.2", "mlx5_core")) << "bound already";
    EXPECT_EQ(text("bus/pci/drivers/mlx5_core/bind"), "0000:3b:00.3");
}

TEST_F(SriovTree, AVfIsBoundByNameWithoutAutoprobe) {
    plant("connectx5-legacy");
    const std::string vf = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.3/";
    plant_line(vf + "driver_override = (null)");
    EXPECT_EQ(room_->autoprobe("0000:3b:00.0").value(), true);
    EXPECT_FALSE(room_->autoprobe("0000:3b:00.3").value());
    EXPECT_FALSE(room_->autoprobe("0000:77:00.0").value());
    ASSERT_TRUE(room_->bind("0000:3b:00.3", "mlx5_core"));
    EXPECT_EQ(text("bus/pci/devices/0000:3b:00.3/driver_override"), "(null)") << "not needed";
    ASSERT_TRUE(room_->set_autoprobe("0000:3b:00.0", false));
    EXPECT_EQ(room_->autoprobe("0000:3b:00.0").value(), false);
    ASSERT_TRUE(room_->bind("0000:3b:00.3", "mlx5_core"));
    EXPECT_EQ(text("bus/pci/devices/0000:3b:00.3/driver_override").front(), '\n') << "none again";
    plant_line(vf + "driver_override = mlx5_core");
    ASSERT_TRUE(room_->bind("0000:3b:00.3", "mlx5_core"));
    EXPECT_EQ(text("bus/pci/devices/0000:3b:00.3/driver_override").front(), '\n')
        << "of a bind that died";
    plant_line(vf + "driver_override = vfio-pci");
    ASSERT_TRUE(room_->bind("0000:3b:00.3", "mlx5_core"));
    EXPECT_EQ(text("bus/pci/devices/0000:3b:00.3/driver_override"), "vfio-pci") << "somebody's";
    ASSERT_TRUE(room_->set_autoprobe("0000:3b:00.0", true));
    EXPECT_EQ(room_->autoprobe("0000:3b:00.0").value(), true);
    EXPECT_EQ(room_->set_autoprobe("0000:77:00.0", true).error().code, Code::Unavailable);
    EXPECT_EQ(room_->set_autoprobe("0000:3b:00.3", true).error().sys, ENOENT);
}

TEST_F(SriovTree, OrdersThatCannotBe) {
    plant("e810");
    EXPECT_EQ(room_->set_num_vfs("0000:ca:01.0", 1).error().code, Code::Unavailable);
    EXPECT_EQ(room_->set_num_vfs("0000:77:00.0", 1).error().sys, ENODEV);
    EXPECT_EQ(room_->unbind("0000:77:00.0").error().code, Code::Unavailable);
    EXPECT_EQ(room_->bind("0000:ca:01.1", "iavf").error().code, Code::Busy);
    plant_line("bus/pci/devices/0000:ca:01.2/vendor = 0x8086");
    fs::rename(root_ / "bus/pci/devices/0000:ca:01.2", root_ / "devices/0000:ca:01.2");
    plant_line("bus/pci/devices/0000:ca:01.2 -> ../../../devices/0000:ca:01.2");
    EXPECT_EQ(room_->bind("0000:ca:01.2", "none").error().code, Code::Unavailable);
    plant_line("bus/pci/drivers_probe = ");
    EXPECT_TRUE(room_->bind("0000:ca:01.2", ""));
    EXPECT_EQ(text("bus/pci/drivers_probe"), "0000:ca:01.2");
    for (const char* driver : {"..", "../devices/0000:ca:00.0/driver"})
        EXPECT_EQ(room_->bind("0000:ca:01.2", driver).error().code, Code::BadInput);
    // A file that is a link is none of sysfs.
    plant_line("bus/pci/drivers/odd/bind -> ../iavf/bind");
    EXPECT_EQ(room_->bind("0000:ca:01.2", "odd").error().sys, ELOOP);
}

TEST(PciAddress, OneSpellingOnly) {
    for (const char* good :
         {"0000:01:10.0", "0000:3b:00.2", "ffff:ff:1f.7", "10000:e1:00.0", "abcdef01:00:00.0"})
        EXPECT_TRUE(is_pci_address(good)) << good;
    for (const char* bad : {"",
                            "01:10.0",
                            "0000:01:10.8",
                            "0000:01:20.0",
                            "0000:01:10.0 ",
                            "0000:01:10.00",
                            "0000:01:10,0",
                            "0000:0B:10.0",
                            "0000:3g:10.0",
                            "00000:01:10.0",
                            "000:01:10.0",
                            "123456789:01:10.0",
                            "0000:01/10.0",
                            "0000-01:10.0",
                            "0000:01:10.-"})
        EXPECT_FALSE(is_pci_address(bad)) << bad;
    EXPECT_FALSE(is_pci_address(std::string_view{"0000:01:10.0\0", 13}));
}

}  // namespace
}  // namespace netns
