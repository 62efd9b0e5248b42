// SPDX-License-Identifier: Apache-2.0
// The contract of netns/rdma.h. The kernel's half runs where RDMA is: in the lab.
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
constexpr char kName[] = "rxect0";

// Emulated machines are slow: what happens in the background is given this long.
Deadline patience() {
    return Deadline::in(std::chrono::seconds(20));
}

template <class Outside>
class RdmaContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::rdma_missing(); !reason.empty())
            GTEST_SKIP() << reason;
    }

    netns::RdmaDevices& room() { return outside_.host().rdma; }

    netns::Links& links() { return outside_.host().links; }

    Netns container() { return outside_.container_ns(); }

    Netns host_ns() { return outside_.host_ns(); }

    static netns::Mac mac(uint8_t last) {
        netns::Mac mac = *netns::parse_mac("02:00:5e:10:00:00");
        mac.bytes[5] = last;
        return mac;
    }

    base::Result<> make_netdev(uint32_t index = kRdmaNetdev) {
        const auto last = static_cast<uint8_t>(index - kRdmaNetdev + 1);
        return make_macvlan(
            outside_, container(), index, "rdma" + std::to_string(last - 1), mac(last));
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
        const auto added = add(kName);
        EXPECT_TRUE(added) << added.error().message();
        const auto found = room().find_by_name(owner(), kName);
        EXPECT_TRUE(found && *found);
        return found.value().value_or(RdmaDevice{});
    }

    void expect_error(const base::Result<>& done, Code code, int number) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, code) << done.error().message();
        EXPECT_EQ(done.error().sys, number) << done.error().message();
    }

    Outside outside_;
};

using RdmaOutsides = testing::Types<FakeOutside<Kernel::V6_12>,
                                    FakeOutside<Kernel::V7_2>,
                                    FakeOutside<Kernel::V7_2, RdmaNetnsMode::Exclusive>,
                                    FakeOutside<Kernel::V7_3>,
                                    FakeOutside<Kernel::V7_3, RdmaNetnsMode::Exclusive>,
                                    KernelOutside>;
TYPED_TEST_SUITE(RdmaContract, RdmaOutsides, OutsideNames);

TYPED_TEST(RdmaContract, ALinkIsFoundByNameAndNetdev) {
    ASSERT_TRUE(this->make_netdev());
    EXPECT_FALSE(this->room().find_by_name(this->container(), kName).value());
    EXPECT_FALSE(this->room().find_by_netdev(this->container(), kRdmaNetdev, kName).value());
    const auto added = this->add(kName);
    ASSERT_TRUE(added) << added.error().message();
    const auto named = this->room().find_by_name(this->owner(), kName);
    ASSERT_TRUE(named && *named);
    EXPECT_EQ((*named)->name, kName);
    EXPECT_EQ((*named)->node_guid, netns::eui64(this->mac(1)));
    const auto by_netdev = this->room().find_by_netdev(this->container(), kRdmaNetdev, "other");
    ASSERT_TRUE(by_netdev) << by_netdev.error().message();
    if (this->exclusive())
        EXPECT_FALSE(*by_netdev) << "the container does not see it before it was moved";
    else
        EXPECT_EQ(*by_netdev, *named);
    EXPECT_FALSE(this->room().find_by_netdev(this->host_ns(), kRdmaNetdev, kName).value())
        << "the host's interface with this index is another one, or none";
}

TYPED_TEST(RdmaContract, AListHasWhatTheNamespaceSees) {
    const auto lists = [&](const Netns& ns, const RdmaDevice& device) {
        const auto all = this->room().list(ns).value();
        return std::ranges::find(all, device) != all.end();
    };
    const RdmaDevice device = this->make_device();
    EXPECT_TRUE(lists(this->host_ns(), device));
    EXPECT_EQ(lists(this->container(), device), !this->exclusive());
    ASSERT_TRUE(this->room().remove_link(this->owner(), device.index));
    EXPECT_FALSE(lists(this->host_ns(), device));
}

TYPED_TEST(RdmaContract, ANetdevCarriesOneLink) {
    (void)this->make_device();
    this->expect_error(this->add("rxect1"), Code::Busy, EEXIST);
    EXPECT_FALSE(this->room().find_by_name(this->owner(), "rxect1").value());
}

TYPED_TEST(RdmaContract, ATakenNameIsBusy) {
    (void)this->make_device();
    ASSERT_TRUE(this->make_netdev(kRdmaNetdev + 1));
    this->expect_error(this->add(kName, kRdmaNetdev + 1), Code::Busy, ENFILE);
    EXPECT_FALSE(this->room().find_by_netdev(this->container(), kRdmaNetdev + 1, kName).value());
}

TYPED_TEST(RdmaContract, NamesThatNoDeviceHasAreBadInput) {
    ASSERT_TRUE(this->make_netdev());
    this->expect_error(this->add(""), Code::BadInput, EINVAL);
    this->expect_error(this->add("rxe%d"), Code::BadInput, EINVAL);
}

TYPED_TEST(RdmaContract, AnUnknownTypeIsUnsupported) {
    ASSERT_TRUE(this->make_netdev());
    this->expect_error(this->add(kName, kRdmaNetdev, "nothing"), Code::Unsupported, EINVAL);
}

TYPED_TEST(RdmaContract, AMissingNetdevIsUnavailable) {
    this->expect_error(this->add(kName, 4711), Code::Unavailable, ENODEV);
}

TYPED_TEST(RdmaContract, AStrangerOnTheRocePortIsInTheWay) {
    ASSERT_TRUE(this->make_netdev());
    this->outside_.take_roce_port();
    EXPECT_TRUE(this->room().roce_port_served(this->container()).value());
    const auto added = this->add(kName);
    if (this->outside_.traits().rxe_serves_netns)
        this->expect_error(added, Code::Refused, EPERM);
    else
        EXPECT_TRUE(added) << "rxe does not know this namespace";
}

TYPED_TEST(RdmaContract, TheRocePortTellsWhetherRxeServesTheNamespace) {
    ASSERT_TRUE(this->make_netdev());
    EXPECT_FALSE(this->room().roce_port_served(this->container()).value());
    ASSERT_TRUE(this->add(kName));
    EXPECT_EQ(this->room().roce_port_served(this->container()).value(),
              this->outside_.traits().rxe_serves_netns);
    const auto device = this->room().find_by_name(this->owner(), kName);
    ASSERT_TRUE(device && *device);
    ASSERT_TRUE(this->room().remove_link(this->owner(), (*device)->index));
    EXPECT_FALSE(this->room().roce_port_served(this->container()).value());
}

TYPED_TEST(RdmaContract, RemovingIsDoneAsOftenAsAsked) {
    const RdmaDevice device = this->make_device();
    ASSERT_TRUE(this->room().remove_link(this->owner(), device.index));
    EXPECT_FALSE(this->room().find_by_name(this->owner(), kName).value());
    EXPECT_TRUE(this->room().remove_link(this->owner(), device.index));
    EXPECT_TRUE(this->add(kName)) << "name and netdev are free again";
}

TYPED_TEST(RdmaContract, ADeviceGoesWithItsNetdev) {
    const RdmaDevice device = this->make_device();
    ASSERT_TRUE(this->links().remove(this->container(), kRdmaNetdev));
    const auto gone = this->room().wait_gone(this->owner(), device.index, patience());
    EXPECT_TRUE(gone) << gone.error().message();
    EXPECT_FALSE(this->room().find_by_name(this->owner(), kName).value());
}

TYPED_TEST(RdmaContract, ADeviceThatStaysIsATimeout) {
    const RdmaDevice device = this->make_device();
    const Error gone = error_of(this->room().wait_gone(
        this->owner(), device.index, Deadline::in(std::chrono::milliseconds(50))));
    EXPECT_EQ(gone.code, Code::Timeout) << gone.message();
}

TYPED_TEST(RdmaContract, AnIndexThatNoDeviceHas) {
    const uint32_t none = 4711;
    this->expect_error(
        this->room().move(this->host_ns(), this->container(), none), Code::Unavailable, EINVAL);
    const Error node = error_of(this->room().uverbs_node(this->host_ns(), none));
    EXPECT_EQ(node.code, Code::Unavailable) << node.message();
    EXPECT_EQ(node.sys, EINVAL);
    const Error users = error_of(this->room().user_contexts(this->host_ns(), none));
    EXPECT_EQ(users.code, Code::Unavailable) << users.message();
    const Error gsi = error_of(this->room().has_gsi_qp(this->host_ns(), none));
    EXPECT_EQ(gsi.code, Code::Unavailable) << gsi.message();
    EXPECT_TRUE(this->room().remove_link(this->host_ns(), none));
    EXPECT_TRUE(this->room().wait_gone(this->host_ns(), none, patience()));
    EXPECT_FALSE(this->room().find_gid(this->host_ns(), {none, "rxect9", 0}, Gid{}));
}

TYPED_TEST(RdmaContract, DevicesHaveNodesOfTheirOwn) {
    const RdmaDevice first = this->make_device();
    ASSERT_TRUE(this->make_netdev(kRdmaNetdev + 1));
    ASSERT_TRUE(this->add("rxect1", kRdmaNetdev + 1));
    const auto second = this->room().find_by_name(this->owner(), "rxect1").value();
    ASSERT_TRUE(second);
    const auto a = this->room().uverbs_node(this->owner(), first.index).value();
    const auto b = this->room().uverbs_node(this->owner(), second->index).value();
    EXPECT_TRUE(a.name.starts_with("uverbs")) << a.name;
    EXPECT_NE(a.name, b.name);
    EXPECT_EQ(a.major, 231U);
    EXPECT_EQ(a.minor, 192U + std::stoul(a.name.substr(6)));
    EXPECT_NE(a.minor, b.minor);
    const auto cm = this->room().rdma_cm_node();
    ASSERT_TRUE(cm) << cm.error().message();
    EXPECT_EQ(cm->name, "rdma_cm");
    EXPECT_EQ(cm->major, 10U);
    // Whether there are nodes for management datagrams is up to the host: ib_umad.
    const auto mad = this->room().mad_nodes(first);
    ASSERT_TRUE(mad) << mad.error().message();
    for (const auto& node : *mad)
        EXPECT_EQ(this->room().device_of_node({node.major, node.minor}).value(), first.name);
    EXPECT_TRUE(this->room().mad_nodes({.index = 4711, .name = "rxect9"}).value().empty());
}

TYPED_TEST(RdmaContract, OpenDevicesAreCounted) {
    const RdmaDevice device = this->make_device();
    EXPECT_EQ(this->room().user_contexts(this->owner(), device.index).value(), 0U);
    this->outside_.open_device(this->owner(), device.index);
    EXPECT_EQ(this->room().user_contexts(this->owner(), device.index).value(), 1U);
    EXPECT_FALSE(this->room().open_without_context("rxe").value()) << "each has a context";
    this->outside_.close_devices();
    EXPECT_EQ(this->room().user_contexts(this->owner(), device.index).value(), 0U);
}

TYPED_TEST(RdmaContract, ANewDeviceHasItsGsiQp) {
    const RdmaDevice device = this->make_device();
    EXPECT_TRUE(this->room().has_gsi_qp(this->owner(), device.index).value());
}

TYPED_TEST(RdmaContract, AddressesBecomeGids) {
    const RdmaDevice device = this->make_device();
    const auto local = this->room().wait_for_gid(
        this->owner(), device, netns::link_local_gid(this->mac(1)), patience());
    ASSERT_TRUE(local) << local.error().message();
    EXPECT_EQ(local->netdev, "rdma0");
    for (const char* text : {"10.9.0.1/24", "fd00::1/64"}) {
        const auto address = *netns::parse_cidr(text);
        const Gid gid = netns::gid_of(address);
        EXPECT_FALSE(this->room().find_gid(this->owner(), device, gid).value());
        ASSERT_TRUE(this->links().add_address(this->container(), kRdmaNetdev, address));
        const auto found = this->room().wait_for_gid(this->owner(), device, gid, patience());
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->gid, gid);
        EXPECT_EQ(found->netdev, "rdma0");
        EXPECT_GT(found->index, 0U) << "the first is the link-local one";
    }
}

TYPED_TEST(RdmaContract, AddressesOfBeforeTheLinkBecomeGidsToo) {
    ASSERT_TRUE(this->make_netdev());
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    ASSERT_TRUE(this->links().add_address(this->container(), kRdmaNetdev, address));
    ASSERT_TRUE(this->add(kName));
    const auto device = this->room().find_by_name(this->owner(), kName).value();
    ASSERT_TRUE(device);
    const auto found =
        this->room().wait_for_gid(this->owner(), *device, netns::gid_of(address), patience());
    EXPECT_TRUE(found) << found.error().message();
}

TYPED_TEST(RdmaContract, AGidGoesWithItsAddress) {
    const RdmaDevice device = this->make_device();
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    const Gid gid = netns::gid_of(address);
    ASSERT_TRUE(this->links().add_address(this->container(), kRdmaNetdev, address));
    ASSERT_TRUE(this->room().wait_for_gid(this->owner(), device, gid, patience()));
    ASSERT_TRUE(this->links().remove_address(this->container(), kRdmaNetdev, address));
    const auto deadline = patience();
    while (this->room().find_gid(this->owner(), device, gid).value() && !deadline.passed()) {
    }
    EXPECT_FALSE(this->room().find_gid(this->owner(), device, gid).value());
}

TYPED_TEST(RdmaContract, AGidThatDoesNotComeIsATimeout) {
    const RdmaDevice device = this->make_device();
    const Gid gid = netns::gid_of(*netns::parse_ip("10.9.0.99"));
    const Error none = error_of(this->room().wait_for_gid(
        this->owner(), device, gid, Deadline::in(std::chrono::milliseconds(50))));
    EXPECT_EQ(none.code, Code::Timeout);
    EXPECT_NE(none.text.find(netns::to_string(gid)), std::string::npos);
}

// Mode `shared` relies on this.
TYPED_TEST(RdmaContract, AChildsAddressIsAGidOfTheParentsDevice) {
    ASSERT_TRUE(this->room().add_link(
        this->host_ns(), {.name = kName, .type = "rxe", .netdev = this->outside_.parent()}));
    const auto parent = this->room().find_by_name(this->host_ns(), kName).value();
    ASSERT_TRUE(parent);
    ASSERT_TRUE(this->make_netdev());
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    ASSERT_TRUE(this->links().add_address(this->container(), kRdmaNetdev, address));
    const auto found =
        this->room().wait_for_gid(this->host_ns(), *parent, netns::gid_of(address), patience());
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->netdev, "rdma0");
}

TYPED_TEST(RdmaContract, OnlyExclusiveModeMovesAndRxeOnlyFrom7_3On) {
    const RdmaDevice device = this->make_device();
    const auto moved = this->room().move(this->owner(), this->container(), device.index);
    if (!this->exclusive() || !this->outside_.traits().rxe_can_move) {
        this->expect_error(moved, Code::Unsupported, EOPNOTSUPP);
        return;
    }
    ASSERT_TRUE(moved) << moved.error().message();
    EXPECT_FALSE(this->room().find_by_name(this->host_ns(), kName).value());
    const auto found = this->room().find_by_netdev(this->container(), kRdmaNetdev, kName);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->index, device.index);
    EXPECT_TRUE(this->room().uverbs_node(this->container(), device.index));
    EXPECT_FALSE(this->room().uverbs_node(this->host_ns(), device.index));
    EXPECT_TRUE(this->room().roce_port_served(this->container()).value());
    const auto gid = this->room().wait_for_gid(
        this->container(), **found, netns::link_local_gid(this->mac(1)), patience());
    EXPECT_TRUE(gid) << gid.error().message();
    EXPECT_FALSE(this->room().has_gsi_qp(this->container(), device.index).value())
        << "7.3 loses it; if a later kernel does not, tell the World";
    // And back.
    const auto back = this->room().move(this->container(), this->host_ns(), device.index);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_TRUE(this->room().find_by_name(this->host_ns(), kName).value());
    EXPECT_TRUE(this->room().remove_link(this->host_ns(), device.index));
}

TYPED_TEST(RdmaContract, ADeviceIsRenamed) {
    const RdmaDevice device = this->make_device();
    const auto rename = [&](uint32_t index, const std::string& name) {
        return this->room().rename(this->owner(), index, name);
    };
    for (const char* name : {"rxect7", "rxect7"})
        EXPECT_TRUE(rename(device.index, name));
    EXPECT_EQ(this->room().find_by_name(this->owner(), "rxect7").value()->index, device.index);
    ASSERT_TRUE(this->make_netdev(kRdmaNetdev + 1) && this->add(kName, kRdmaNetdev + 1));
    this->expect_error(rename(device.index, kName), Code::Busy, EEXIST);
    const auto is_free = [&](const std::string& name) {
        return this->room().wait_until_free(this->owner(), name, base::Deadline::now()).value();
    };
    EXPECT_FALSE(is_free(kName));
    EXPECT_TRUE(is_free("rxect8"));
    this->expect_error(rename(0x7fff0000, "rxect8"), Code::Unavailable, EINVAL);
}

// So a table is told again of what it may have missed (before 7.0). Nothing else shows it than that
// each GID comes into the first slot that is free.
TYPED_TEST(RdmaContract, TheMacThatANetdevHasSetAgainMakesItsGidsAgain) {
    const RdmaDevice device = this->make_device();
    // Of networks of their own: an address goes with the first one of its network.
    const auto first = *netns::parse_cidr("10.9.0.1/24");
    const auto second = *netns::parse_cidr("10.9.1.2/24");
    const auto index_of = [&](const netns::Address& address) {
        const netns::WantedGid wanted{netns::gid_of(address), {}, this->container()};
        const auto found = this->room().find_gid(this->owner(), device, wanted).value();
        return found ? static_cast<int>(found->index) : -1;
    };
    const auto becomes = [](const auto& wanted) {
        const auto limit = patience();
        while (!wanted() && !limit.passed())
            std::this_thread::yield();
        return wanted();
    };
    for (const auto& address : {first, second}) {
        ASSERT_TRUE(this->links().add_address(this->container(), kRdmaNetdev, address));
        ASSERT_TRUE(becomes([&] { return index_of(address) >= 0; }));
    }
    const int slot = index_of(first);
    ASSERT_LT(slot, index_of(second));
    ASSERT_TRUE(this->links().remove_address(this->container(), kRdmaNetdev, first));
    ASSERT_TRUE(becomes([&] { return index_of(first) < 0; }));
    EXPECT_NE(index_of(second), slot);
    ASSERT_TRUE(this->links().change(this->container(), kRdmaNetdev, {.mac = this->mac(1)}));
    EXPECT_TRUE(becomes([&] { return index_of(second) == slot; }));
}

TYPED_TEST(RdmaContract, ADeviceGoesWithItsNamespace) {
    RdmaDevice device;
    {
        const Netns made = this->outside_.host().namespaces.make().value();
        ASSERT_TRUE(make_macvlan(this->outside_, made, kRdmaNetdev, "rdma0", this->mac(1)));
        ASSERT_TRUE(
            this->room().add_link(made, {.name = kName, .type = "rxe", .netdev = kRdmaNetdev}));
        const auto found =
            this->room().find_by_name(this->exclusive() ? this->host_ns() : made, kName).value();
        ASSERT_TRUE(found);
        device = *found;
    }
    this->outside_.settle();
    const auto gone = this->room().wait_gone(this->host_ns(), device.index, patience());
    EXPECT_TRUE(gone) << gone.error().message();
}

}  // namespace
}  // namespace test
