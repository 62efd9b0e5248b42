// SPDX-License-Identifier: Apache-2.0
// Adapters of users, which tests/data/import made fixtures of. Each must make sense; igb and
// netdevsim of the lab are known to the last VF.
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "netns/kernel/devlink_message.h"
#include "netns/kernel/link_message.h"
#include "netns/kernel/rdma_message.h"
#include "netns/kernel/sriov_message.h"
#include "netns/kernel/sysfs.h"
#include "netns/sriov.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/netns/genl_messages.h"
#include "tests/unit/netns/listed_tree.h"

namespace netns {
namespace {

namespace fs = std::filesystem;
using Answers = std::map<std::string, std::vector<netlink::Reply>>;  // by question

// The fixtures of a folder of tests/data that were imported.
std::vector<std::string> imported_in(const std::string& folder) {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(fs::path(TEST_DATA) / folder)) {
        std::string first;
        if (std::getline(std::ifstream(entry.path()) >> std::ws, first) &&
            first.starts_with("# imported: "))
            all.push_back(entry.path().filename());
    }
    return all;
}

Answers answers_of(const std::string& name) {
    Answers all;
    std::ifstream listing(fs::path(TEST_DATA) / "netlink" / name);
    for (std::string line; std::getline(listing, line);) {
        const size_t sign = line.find(" = ");
        if (sign != std::string::npos && line.front() != '#')
            all[line.substr(0, sign)] = test::recorded_replies(line.substr(sign + 3));
    }
    return all;
}

class Imported : public testing::Test {
  protected:
    std::unique_ptr<Sriov> planted(const std::string& name) {
        test::plant_listing(root_.path(), name);
        return make_kernel_sriov(root_.path());
    }

    test::TempDir root_;
};

// A VF and its PF know each other, and each netdev and RDMA device leads back to its function.
void expect_sense(Sriov& room, const std::string& address) {
    const auto found = room.find(address);
    ASSERT_TRUE(found && *found) << address;
    const PciFunction& function = **found;
    EXPECT_LE(function.num_vfs, function.total_vfs) << address;
    if (!function.pf.empty()) {
        EXPECT_EQ(room.find_vf(function.pf, function.number).value(), address);
    }
    for (const PciNetdev& netdev : function.netdevs)
        EXPECT_EQ(room.find_by_netdev(netdev.name).value(), address);
    for (const std::string& device : function.rdma_names)
        EXPECT_EQ(room.find_by_rdma(device).value(), address);
}

TEST_F(Imported, EveryTreeMakesSense) {
    for (const std::string& name : imported_in("sysfs")) {
        SCOPED_TRACE(name);
        test::TempDir root;
        test::plant_listing(root.path(), name);
        const auto room = make_kernel_sriov(root.path());
        const SysTree tree = SysTree::at(root.path()).value();
        const std::vector<std::string> addresses = tree.list("bus/pci/devices").value();
        for (const std::string& address : addresses)
            expect_sense(*room, address);
        const std::vector<PciFunction> pfs = room->list_pfs().value();
        for (const PciFunction& pf : pfs)
            EXPECT_FALSE(pf.driver.empty()) << pf.address;
    }
}

bool is_understood(const std::string& question, const netlink::Reply& reply) {
    if (question.starts_with("rtnetlink/"))
        return static_cast<bool>(parse_link(reply));
    if (question.ends_with("/eswitch"))
        return reply.type == NLMSG_ERROR || devlink::parse_eswitch(reply);
    if (question == "nldev/devices")
        return nldev::parse_device(reply).has_value();
    return question != "nldev/system" || nldev::parse_system(reply).has_value();
}

TEST_F(Imported, EveryAnswerIsUnderstood) {
    for (const std::string& name : imported_in("netlink")) {
        SCOPED_TRACE(name);
        for (const auto& [question, replies] : answers_of(name)) {
            for (const auto& reply : replies)
                EXPECT_TRUE(is_understood(question, reply)) << question;
        }
    }
}

TEST_F(Imported, IgbOfTheLab) {
    const auto room = planted("lab-igb-vfs");
    const PciFunction pf = room->find("0000:01:00.0").value().value();
    EXPECT_EQ(pf.driver, "igb");
    EXPECT_EQ(pf.total_vfs, 7U);
    EXPECT_EQ(pf.num_vfs, 4U);
    const PciFunction vf = room->find("0000:01:10.6").value().value();
    EXPECT_EQ(vf.pf, pf.address);
    EXPECT_EQ(vf.number, 3U);
    EXPECT_EQ(vf.driver, "igbvf");
    EXPECT_EQ(room->list_pfs().value().size(), 2U);
    const Answers answers = answers_of("lab-igb-vfs");
    const netlink::Reply& link = answers.at("rtnetlink/enp1s0").at(0);
    EXPECT_TRUE(parse_link(link).value().ethernet);
    for (uint32_t number = 0; number < 4; ++number)
        EXPECT_EQ(parse_vf(link, number).value().spoofchk, true) << number;
    EXPECT_FALSE(parse_vf(link, 4));
}

TEST_F(Imported, NetdevsimOfTheLab) {
    const std::string handle = "netdevsim/netdevsim1";
    const PciFunction device = planted("lab-netdevsim-switchdev")->find(handle).value().value();
    EXPECT_EQ(device.num_vfs, 2U);
    ASSERT_EQ(device.netdevs.size(), 1U) << "representors are none of its own";
    const Answers answers = answers_of("lab-netdevsim-switchdev");
    const auto eswitch = devlink::parse_eswitch(answers.at("devlink/" + handle + "/eswitch").at(0));
    EXPECT_EQ(eswitch.value().value().mode, EswitchMode::Switchdev);
    std::map<std::string, uint32_t> ports;
    for (const auto& reply : answers.at("devlink/ports")) {
        if (const auto port = devlink::parse_port(reply, handle))
            ports[port->name] = port->netdev;
    }
    EXPECT_EQ(ports.size(), 3U);
    EXPECT_EQ(ports["p1"], device.netdevs.front().index);
    EXPECT_NE(ports["pf0vf0"], 0U);
    EXPECT_NE(ports["pf0vf1"], 0U);
}

}  // namespace
}  // namespace netns
