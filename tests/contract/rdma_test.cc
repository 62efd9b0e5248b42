// SPDX-License-Identifier: Apache-2.0
// The contract of netns/rdma.h. The kernel's half runs where RDMA is: in the lab.
#include "netns/rdma.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::Gid;
using netns::RdmaDevice;
using netns::RdmaNetnsMode;

constexpr uint32_t kRdmaNetdev = 0x40000001;

// Emulated machines are slow: what happens in the background is given this long.
Deadline patience() {
    return Deadline::in(std::chrono::seconds(20));
}

class RdmaContract : public ContractTest {
  protected:
    const std::string name_ = fresh_rdma_name();

    netns::RdmaDevices& room() { return outside_->host().rdma; }

    netns::Links& links() { return outside_->host().links; }

    Netns container() { return outside_->container_ns(); }

    Netns host_ns() { return outside_->host_ns(); }

    static netns::Mac mac(uint8_t last) {
        netns::Mac mac = *netns::parse_mac("02:00:5e:10:00:00");
        mac.bytes[5] = last;
        return mac;
    }

    base::Result<> make_netdev(uint32_t index = kRdmaNetdev) {
        const auto last = static_cast<uint8_t>(index - kRdmaNetdev + 1);
        return make_macvlan(
            *outside_, container(), index, "rdma" + std::to_string(last - 1), mac(last));
    }

    base::Result<> add(const std::string& name,
                       uint32_t netdev = kRdmaNetdev,
                       const std::string& type = "rxe") {
        return room().add_link(container(), {.name = name, .type = type, .netdev = netdev});
    }

    bool exclusive() { return room().mode().value() == RdmaNetnsMode::Exclusive; }

    // Returns the namespace that sees a new device: in exclusive mode only the host does, wherever
    // the device was made.
    Netns owner() { return exclusive() ? host_ns() : container(); }

    // A netdev with an rxe on it.
    RdmaDevice make_device() {
        EXPECT_TRUE(make_netdev());
        const auto added = add(name_);
        EXPECT_TRUE(added) << added.error().message();
        const auto found = room().find_by_name(owner(), name_);
        EXPECT_TRUE(found && *found);
        return found.value().value_or(RdmaDevice{});
    }

    void expect_error(const base::Result<>& done, Code code, int number) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, code) << done.error().message();
        EXPECT_EQ(done.error().sys, number) << done.error().message();
    }
};

INSTANTIATE_TEST_SUITE_P(,
                         RdmaContract,
                         Values(fake(Kernel::V6_12),
                                fake(Kernel::V7_2),
                                fake(Kernel::V7_2, RdmaNetnsMode::Exclusive),
                                fake(Kernel::V7_3),
                                fake(Kernel::V7_3, RdmaNetnsMode::Exclusive),
                                kernel(KernelOutside::rdma_missing)),
                         OutsideNames());

TEST_P(RdmaContract, ALinkIsFoundByNameAndNetdev) {
    ASSERT_TRUE(make_netdev());
    EXPECT_FALSE(room().find_by_name(container(), name_).value());
    EXPECT_FALSE(room().find_by_netdev(container(), kRdmaNetdev, name_).value());
    const auto added = add(name_);
    ASSERT_TRUE(added) << added.error().message();
    const auto named = room().find_by_name(owner(), name_);
    ASSERT_TRUE(named && *named);
    EXPECT_EQ((*named)->name, name_);
    EXPECT_EQ((*named)->node_guid, netns::eui64(mac(1)));
    const auto by_netdev = room().find_by_netdev(container(), kRdmaNetdev, "other");
    ASSERT_TRUE(by_netdev) << by_netdev.error().message();
    if (exclusive())
        EXPECT_FALSE(*by_netdev) << "the container does not see it before it was moved";
    else
        EXPECT_EQ(*by_netdev, *named);
    EXPECT_FALSE(room().find_by_netdev(host_ns(), kRdmaNetdev, name_).value())
        << "the host's interface with this index is another one, or none";
}

TEST_P(RdmaContract, AListHasWhatTheNamespaceSees) {
    const auto lists = [&](const Netns& ns, const RdmaDevice& device) {
        const auto all = room().list(ns).value();
        return std::ranges::find(all, device) != all.end();
    };
    const RdmaDevice device = make_device();
    EXPECT_TRUE(lists(host_ns(), device));
    EXPECT_EQ(lists(container(), device), !exclusive());
    ASSERT_TRUE(room().remove_link(owner(), device.index));
    EXPECT_FALSE(lists(host_ns(), device));
}

TEST_P(RdmaContract, ANetdevCarriesOneLink) {
    (void)make_device();
    expect_error(add("rxect1"), Code::Busy, EEXIST);
    EXPECT_FALSE(room().find_by_name(owner(), "rxect1").value());
}

TEST_P(RdmaContract, ATakenNameIsBusy) {
    (void)make_device();
    ASSERT_TRUE(make_netdev(kRdmaNetdev + 1));
    expect_error(add(name_, kRdmaNetdev + 1), Code::Busy, ENFILE);
    EXPECT_FALSE(room().find_by_netdev(container(), kRdmaNetdev + 1, name_).value());
}

TEST_P(RdmaContract, NamesThatNoDeviceHasAreBadInput) {
    ASSERT_TRUE(make_netdev());
    expect_error(add(""), Code::BadInput, EINVAL);
    expect_error(add("rxe%d"), Code::BadInput, EINVAL);
}

TEST_P(RdmaContract, AnUnknownTypeIsUnsupported) {
    ASSERT_TRUE(make_netdev());
    expect_error(add(name_, kRdmaNetdev, "nothing"), Code::Unsupported, EINVAL);
}

TEST_P(RdmaContract, AMissingNetdevIsUnavailable) {
    expect_error(add(name_, 4711), Code::Unavailable, ENODEV);
}

TEST_P(RdmaContract, AStrangerOnTheRocePortIsInTheWay) {
    ASSERT_TRUE(make_netdev());
    outside_->take_roce_port();
    EXPECT_TRUE(room().roce_port_served(container()).value());
    const auto added = add(name_);
    if (outside_->traits().rxe_serves_netns)
        expect_error(added, Code::Refused, EPERM);
    else
        EXPECT_TRUE(added) << "rxe does not know this namespace";
}

TEST_P(RdmaContract, TheRocePortTellsWhetherRxeServesTheNamespace) {
    ASSERT_TRUE(make_netdev());
    EXPECT_FALSE(room().roce_port_served(container()).value());
    ASSERT_TRUE(add(name_));
    EXPECT_EQ(room().roce_port_served(container()).value(), outside_->traits().rxe_serves_netns);
    const auto device = room().find_by_name(owner(), name_);
    ASSERT_TRUE(device && *device);
    ASSERT_TRUE(room().remove_link(owner(), (*device)->index));
    EXPECT_FALSE(room().roce_port_served(container()).value());
}

TEST_P(RdmaContract, RemovingIsDoneAsOftenAsAsked) {
    const RdmaDevice device = make_device();
    ASSERT_TRUE(room().remove_link(owner(), device.index));
    EXPECT_FALSE(room().find_by_name(owner(), name_).value());
    EXPECT_TRUE(room().remove_link(owner(), device.index));
    EXPECT_TRUE(add(name_)) << "name and netdev are free again";
}

TEST_P(RdmaContract, ADeviceGoesWithItsNetdev) {
    const RdmaDevice device = make_device();
    ASSERT_TRUE(links().remove(container(), kRdmaNetdev));
    const auto gone = room().wait_gone(owner(), device.index, patience());
    EXPECT_TRUE(gone) << gone.error().message();
    EXPECT_FALSE(room().find_by_name(owner(), name_).value());
}

TEST_P(RdmaContract, ADeviceThatStaysIsATimeout) {
    const RdmaDevice device = make_device();
    const Error gone = error_of(
        room().wait_gone(owner(), device.index, Deadline::in(std::chrono::milliseconds(50))));
    EXPECT_EQ(gone.code, Code::Timeout) << gone.message();
}

TEST_P(RdmaContract, AnIndexThatNoDeviceHas) {
    const uint32_t none = 4711;
    expect_error(room().move(host_ns(), container(), none), Code::Unavailable, EINVAL);
    const Error node = error_of(room().uverbs_node(host_ns(), none));
    EXPECT_EQ(node.code, Code::Unavailable) << node.message();
    EXPECT_EQ(node.sys, EINVAL);
    const Error users = error_of(room().user_contexts(host_ns(), none));
    EXPECT_EQ(users.code, Code::Unavailable) << users.message();
    const Error gsi = error_of(room().has_gsi_qp(host_ns(), none));
    EXPECT_EQ(gsi.code, Code::Unavailable) << gsi.message();
    EXPECT_TRUE(room().remove_link(host_ns(), none));
    EXPECT_TRUE(room().wait_gone(host_ns(), none, patience()));
    EXPECT_FALSE(room().find_gid(host_ns(), {none, "rxect9", 0}, Gid{}));
}

TEST_P(RdmaContract, DevicesHaveNodesOfTheirOwn) {
    const RdmaDevice first = make_device();
    ASSERT_TRUE(make_netdev(kRdmaNetdev + 1));
    ASSERT_TRUE(add("rxect1", kRdmaNetdev + 1));
    const auto second = room().find_by_name(owner(), "rxect1").value();
    ASSERT_TRUE(second);
    const auto a = room().uverbs_node(owner(), first.index).value();
    const auto b = room().uverbs_node(owner(), second->index).value();
    EXPECT_TRUE(a.name.starts_with("uverbs")) << a.name;
    EXPECT_NE(a.name, b.name);
    EXPECT_EQ(a.major, 231U);
    EXPECT_EQ(a.minor, 192U + std::stoul(a.name.substr(6)));
    EXPECT_NE(a.minor, b.minor);
    const auto cm = room().rdma_cm_node();
    ASSERT_TRUE(cm) << cm.error().message();
    EXPECT_EQ(cm->name, "rdma_cm");
    EXPECT_EQ(cm->major, 10U);
    // Whether there are nodes for management datagrams is up to the host: ib_umad.
    const auto mad = room().mad_nodes(first);
    ASSERT_TRUE(mad) << mad.error().message();
    for (const auto& node : *mad)
        EXPECT_EQ(room().device_of_node({node.major, node.minor}).value(), first.name);
    EXPECT_TRUE(room().mad_nodes({.index = 4711, .name = "rxect9"}).value().empty());
}

TEST_P(RdmaContract, OpenDevicesAreCounted) {
    const RdmaDevice device = make_device();
    EXPECT_EQ(room().user_contexts(owner(), device.index).value(), 0U);
    outside_->open_device(owner(), device.index);
    EXPECT_EQ(room().user_contexts(owner(), device.index).value(), 1U);
    EXPECT_FALSE(room().open_without_context("rxe").value()) << "each has a context";
    outside_->close_devices();
    EXPECT_EQ(room().user_contexts(owner(), device.index).value(), 0U);
}

TEST_P(RdmaContract, ANewDeviceHasItsGsiQp) {
    const RdmaDevice device = make_device();
    EXPECT_TRUE(room().has_gsi_qp(owner(), device.index).value());
}

TEST_P(RdmaContract, AddressesBecomeGids) {
    const RdmaDevice device = make_device();
    const auto local =
        room().wait_for_gid(owner(), device, netns::link_local_gid(mac(1)), patience());
    ASSERT_TRUE(local) << local.error().message();
    EXPECT_EQ(local->netdev, "rdma0");
    for (const char* text : {"10.9.0.1/24", "fd00::1/64"}) {
        const auto address = *netns::parse_cidr(text);
        const Gid gid = netns::gid_of(address);
        EXPECT_FALSE(room().find_gid(owner(), device, gid).value());
        ASSERT_TRUE(links().add_address(container(), kRdmaNetdev, address));
        const auto found = room().wait_for_gid(owner(), device, gid, patience());
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->gid, gid);
        EXPECT_EQ(found->netdev, "rdma0");
        EXPECT_GT(found->index, 0U) << "the first is the link-local one";
    }
}

TEST_P(RdmaContract, AddressesOfBeforeTheLinkBecomeGidsToo) {
    ASSERT_TRUE(make_netdev());
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    ASSERT_TRUE(links().add_address(container(), kRdmaNetdev, address));
    ASSERT_TRUE(add(name_));
    const auto device = room().find_by_name(owner(), name_).value();
    ASSERT_TRUE(device);
    const auto found = room().wait_for_gid(owner(), *device, netns::gid_of(address), patience());
    EXPECT_TRUE(found) << found.error().message();
}

TEST_P(RdmaContract, AGidGoesWithItsAddress) {
    const RdmaDevice device = make_device();
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    const Gid gid = netns::gid_of(address);
    ASSERT_TRUE(links().add_address(container(), kRdmaNetdev, address));
    ASSERT_TRUE(room().wait_for_gid(owner(), device, gid, patience()));
    ASSERT_TRUE(links().remove_address(container(), kRdmaNetdev, address));
    const auto deadline = patience();
    while (room().find_gid(owner(), device, gid).value() && !deadline.passed()) {
    }
    EXPECT_FALSE(room().find_gid(owner(), device, gid).value());
}

TEST_P(RdmaContract, AGidThatDoesNotComeIsATimeout) {
    const RdmaDevice device = make_device();
    const Gid gid = netns::gid_of(*netns::parse_ip("10.9.0.99"));
    const Error none = error_of(
        room().wait_for_gid(owner(), device, gid, Deadline::in(std::chrono::milliseconds(50))));
    EXPECT_EQ(none.code, Code::Timeout);
    EXPECT_NE(none.text.find(netns::to_string(gid)), std::string::npos);
}

// Mode `shared` relies on this.
TEST_P(RdmaContract, AChildsAddressIsAGidOfTheParentsDevice) {
    ASSERT_TRUE(
        room().add_link(host_ns(), {.name = name_, .type = "rxe", .netdev = outside_->parent()}));
    const auto parent = room().find_by_name(host_ns(), name_).value();
    ASSERT_TRUE(parent);
    ASSERT_TRUE(make_netdev());
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    ASSERT_TRUE(links().add_address(container(), kRdmaNetdev, address));
    const auto found = room().wait_for_gid(host_ns(), *parent, netns::gid_of(address), patience());
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->netdev, "rdma0");
}

TEST_P(RdmaContract, OnlyExclusiveModeMovesAndRxeOnlyFrom7_3On) {
    const RdmaDevice device = make_device();
    const auto moved = room().move(owner(), container(), device.index);
    if (!exclusive() || !outside_->traits().rxe_can_move) {
        expect_error(moved, Code::Unsupported, EOPNOTSUPP);
        return;
    }
    ASSERT_TRUE(moved) << moved.error().message();
    EXPECT_FALSE(room().find_by_name(host_ns(), name_).value());
    const auto found = room().find_by_netdev(container(), kRdmaNetdev, name_);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->index, device.index);
    EXPECT_TRUE(room().uverbs_node(container(), device.index));
    EXPECT_FALSE(room().uverbs_node(host_ns(), device.index));
    EXPECT_TRUE(room().roce_port_served(container()).value());
    const auto gid =
        room().wait_for_gid(container(), **found, netns::link_local_gid(mac(1)), patience());
    EXPECT_TRUE(gid) << gid.error().message();
    EXPECT_FALSE(room().has_gsi_qp(container(), device.index).value())
        << "7.3 loses it; if a later kernel does not, tell the World";
    // And back.
    const auto back = room().move(container(), host_ns(), device.index);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_TRUE(room().find_by_name(host_ns(), name_).value());
    EXPECT_TRUE(room().remove_link(host_ns(), device.index));
}

TEST_P(RdmaContract, ADeviceIsRenamed) {
    const RdmaDevice device = make_device();
    const auto rename = [&](uint32_t index, const std::string& name) {
        return room().rename(owner(), index, name);
    };
    for (const char* name : {"rxect7", "rxect7"})
        EXPECT_TRUE(rename(device.index, name));
    EXPECT_EQ(room().find_by_name(owner(), "rxect7").value()->index, device.index);
    ASSERT_TRUE(make_netdev(kRdmaNetdev + 1) && add(name_, kRdmaNetdev + 1));
    expect_error(rename(device.index, name_), Code::Busy, EEXIST);
    const auto is_free = [&](const std::string& name) {
        return room().wait_until_free(owner(), name, base::Deadline::now()).value();
    };
    EXPECT_FALSE(is_free(name_));
    EXPECT_TRUE(is_free("rxect8"));
    expect_error(rename(0x7fff0000, "rxect8"), Code::Unavailable, EINVAL);
}

// So a table is told again of what it may have missed (before 7.0). Nothing else shows it than that
// each GID comes into the first slot that is free.
TEST_P(RdmaContract, TheMacThatANetdevHasSetAgainMakesItsGidsAgain) {
    const RdmaDevice device = make_device();
    // Of networks of their own: an address goes with the first one of its network.
    const auto first = *netns::parse_cidr("10.9.0.1/24");
    const auto second = *netns::parse_cidr("10.9.1.2/24");
    const auto index_of = [&](const netns::Address& address) {
        const netns::WantedGid wanted{netns::gid_of(address), {}, container()};
        const auto found = room().find_gid(owner(), device, wanted).value();
        return found ? static_cast<int>(found->index) : -1;
    };
    const auto becomes = [](const auto& wanted) {
        const auto limit = patience();
        while (!wanted() && !limit.passed())
            std::this_thread::yield();
        return wanted();
    };
    for (const auto& address : {first, second}) {
        ASSERT_TRUE(links().add_address(container(), kRdmaNetdev, address));
        ASSERT_TRUE(becomes([&] { return index_of(address) >= 0; }));
    }
    const int slot = index_of(first);
    ASSERT_LT(slot, index_of(second));
    ASSERT_TRUE(links().remove_address(container(), kRdmaNetdev, first));
    ASSERT_TRUE(becomes([&] { return index_of(first) < 0; }));
    EXPECT_NE(index_of(second), slot);
    ASSERT_TRUE(links().change(container(), kRdmaNetdev, {.mac = mac(1)}));
    EXPECT_TRUE(becomes([&] { return index_of(second) == slot; }));
}

TEST_P(RdmaContract, ADeviceGoesWithItsNamespace) {
    RdmaDevice device;
    {
        const Netns made = outside_->host().namespaces.make().value();
        ASSERT_TRUE(make_macvlan(*outside_, made, kRdmaNetdev, "rdma0", mac(1)));
        ASSERT_TRUE(room().add_link(made, {.name = name_, .type = "rxe", .netdev = kRdmaNetdev}));
        const auto found = room().find_by_name(exclusive() ? host_ns() : made, name_).value();
        ASSERT_TRUE(found);
        device = *found;
    }
    outside_->settle();
    const auto gone = room().wait_gone(host_ns(), device.index, patience());
    EXPECT_TRUE(gone) << gone.error().message();
}

}  // namespace
}  // namespace test
