// SPDX-License-Identifier: Apache-2.0
// The contract of netns/sriov.h, and of netns/link.h for the netdevs of VFs: the World's igb, and
// the igb of a guest (tests/lab/scenarios/contract-igb.sh).
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::LinkChange;
using netns::PciNetdev;
using netns::VfSettings;

constexpr char kPf[] = "0000:01:00.0";
constexpr char kVf[] = "0000:01:10.0";
constexpr char kOtherVf[] = "0000:01:10.2";
constexpr uint32_t kVfs = 2;
constexpr std::chrono::seconds kPatience{30};

// On the kernel, the netdev is there at once, and udev gives it its name a moment later.
PciNetdev netdev_of(Outside& outside, const std::string& address) {
    netns::Sriov& sriov = outside.host().sriov;
    EXPECT_TRUE(sriov.wait_for_netdev(address, Deadline::in(kPatience)));
    EXPECT_TRUE(sriov.wait_for_name(address, Deadline::in(kPatience)).value());
    return sriov.find(address).value()->netdevs.at(0);
}

std::unique_ptr<Outside> make_fake_igb() {
    auto fake = std::make_unique<FakeOutside>(Kernel::V7_3);
    fake->world().add_sriov("enp1s0", kPf, kVfs);
    fake->world().pci.at(kPf).quirks.insert("udev");
    return fake;
}

std::string igb_missing() {
    const char* on_host = std::getenv("CONTRACT_ON_HOST");
    const auto pf = netns::make_kernel_sriov()->find(kPf);
    if (on_host == nullptr || !pf || !*pf || (*pf)->driver != "igb")
        return "a machine of the tests' own with an igb is wanted: tests/lab/run --nics igb";
    return KernelOutside::missing();
}

// The functions with all that is known of their netdevs and of what the PF keeps.
struct Seen {
    std::vector<std::optional<netns::PciFunction>> functions;
    std::vector<std::optional<netns::Link>> links;
    std::vector<std::optional<VfSettings>> settings;
    bool operator==(const Seen&) const = default;
};

Seen look(Outside& outside) {
    const netns::Host host = outside.host();
    Seen seen;
    for (const char* address : {kPf, kVf, kOtherVf}) {
        seen.functions.push_back(host.sriov.find(address).value());
        for (const auto& netdev :
             seen.functions.back() ? seen.functions.back()->netdevs : std::vector<PciNetdev>{})
            seen.links.push_back(host.links.find(outside.host_ns(), netdev.index).value());
    }
    for (uint32_t number = 0; number < kVfs; ++number) {
        if (auto kept = host.sriov.settings(outside.host_ns(), seen.links.at(0)->index, number))
            seen.settings.push_back(*std::move(kept));
    }
    return seen;
}

std::unique_ptr<Outside> make_kernel_igb() {
    auto made = std::make_unique<KernelOutside>();
    // To destroy VFs takes the kernel a second: only if the test before has changed them.
    static std::optional<Seen> as_made;
    if (as_made && look(*made) == *as_made)
        return made;
    const netns::Host host = made->host();
    EXPECT_TRUE(host.sriov.set_num_vfs(kPf, 0));
    // Before its VFs are made: a PF that is down answers none of them, so they get no MAC.
    EXPECT_TRUE(host.links.change(made->host_ns(), netdev_of(*made, kPf).index, {.up = true}));
    EXPECT_TRUE(host.sriov.set_num_vfs(kPf, kVfs));
    (void)netdev_of(*made, kVf);
    (void)netdev_of(*made, kOtherVf);
    as_made = look(*made);
    return made;
}

class VfsContract : public ContractTest {
  protected:
    void prepare() override {
        pf_ = netdev_of(*outside_, kPf).index;
        vf_ = netdev_of(*outside_, kVf);
    }

    netns::Sriov& room() { return outside_->host().sriov; }

    netns::Links& links() { return outside_->host().links; }

    Netns host_ns() { return outside_->host_ns(); }

    VfSettings settings(uint32_t number = 0) {
        return room().settings(host_ns(), pf_, number).value().value();
    }

    base::Result<> configure(const VfSettings& change, uint32_t number = 0) {
        return room().configure(host_ns(), pf_, number, change, Deadline::in(kPatience));
    }

    Error refusal(const VfSettings& change) { return error_of(configure(change)); }

    netns::Mac mac() { return links().find(host_ns(), vf_.index).value()->mac; }

    base::Result<> change_link(const LinkChange& wanted) {
        return links().change(host_ns(), vf_.index, wanted);
    }

    const netns::Mac given_ = *netns::parse_mac("02:00:5e:10:00:01");
    const netns::Mac other_ = *netns::parse_mac("02:00:5e:10:00:02");
    uint32_t pf_ = 0;
    PciNetdev vf_;
};

INSTANTIATE_TEST_SUITE_P(,
                         VfsContract,
                         Values(OutsideFactory<Outside>{"FakeIgb", make_fake_igb},
                                OutsideFactory<Outside>{"KernelIgb", make_kernel_igb, igb_missing}),
                         OutsideNames());

TEST_P(VfsContract, FunctionsAreFound) {
    const auto pf = room().find(kPf).value();
    ASSERT_TRUE(pf);
    EXPECT_EQ(pf->driver, "igb");
    EXPECT_EQ(pf->pf, "");
    EXPECT_EQ(pf->total_vfs, 7U);
    EXPECT_EQ(pf->num_vfs, kVfs);
    EXPECT_EQ(pf->numa_node, -1);
    ASSERT_EQ(pf->netdevs.size(), 1U);
    EXPECT_EQ(pf->netdevs[0].name, "enp1s0");
    EXPECT_TRUE(pf->rdma_names.empty());
    const auto vf = room().find(kOtherVf).value();
    ASSERT_TRUE(vf);
    EXPECT_EQ(vf->driver, "igbvf");
    EXPECT_EQ(vf->pf, kPf);
    EXPECT_EQ(vf->number, 1U);
    EXPECT_EQ(vf->total_vfs, 0U);
    ASSERT_EQ(vf->netdevs.size(), 1U);
    EXPECT_EQ(vf->netdevs[0].name, "enp1s0v1");
    EXPECT_EQ(links().find(host_ns(), vf->netdevs[0].index).value()->device, kOtherVf);
    EXPECT_EQ(room().find_vf(kPf, 0).value(), kVf);
    EXPECT_EQ(room().find_by_netdev("enp1s0v0").value(), kVf);
    EXPECT_EQ(room().list_pfs().value().at(0), *pf);
}

TEST_P(VfsContract, WhatIsNotThereIsNothing) {
    for (const char* address : {"0000:77:00.0", "", "../0000:01:00.0", "0000:01:00.0/net"})
        EXPECT_FALSE(room().find(address).value()) << address;
    EXPECT_FALSE(room().find_vf(kPf, kVfs).value());
    EXPECT_FALSE(room().find_vf(kVf, 0).value());
    for (const char* name : {"lo", "", "..", "missing", "enp1s0/device"}) {
        EXPECT_FALSE(room().find_by_netdev(name).value()) << name;
        EXPECT_FALSE(room().find_by_rdma(name).value()) << name;
    }
    for (const auto& [link, number] : {std::pair{pf_, kVfs}, {vf_.index, 0U}}) {
        const Error missing = error_of(room().settings(host_ns(), link, number));
        EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
    }
    VfSettings change;
    change.trust = true;
    const Error nobody = error_of(configure(change, kVfs));
    EXPECT_EQ(nobody.code, Code::Unavailable) << nobody.message();
}

TEST_P(VfsContract, SettingsAreReadAndWritten) {
    const VfSettings fresh = settings();
    const VfSettings others = settings(1);
    VfSettings expected;
    expected.mac = mac();  // that the VF gave itself
    expected.vlan = netns::VfVlan{};
    expected.rate = netns::VfRate{};
    expected.spoofchk = true;
    expected.trust = false;
    expected.link_state = netns::VfLinkState::Auto;
    EXPECT_EQ(fresh, expected);
    VfSettings change;
    change.vlan = netns::VfVlan{.id = 100, .qos = 3};
    change.spoofchk = false;
    change.trust = true;
    const auto done = configure(change);
    ASSERT_TRUE(done) << done.error().message();
    expected.vlan = change.vlan;
    expected.spoofchk = false;
    expected.trust = true;
    EXPECT_EQ(settings(), expected);
    EXPECT_EQ(settings(1), others);
    VfSettings back = fresh;
    back.mac.reset();
    back.rate.reset();
    back.link_state.reset();
    ASSERT_TRUE(configure(back));
    EXPECT_EQ(settings(), fresh);
}

TEST_P(VfsContract, WhatIgbRefuses) {
    const VfSettings fresh = settings();
    VfSettings change;
    change.vlan = netns::VfVlan{.id = 100, .protocol = netns::VlanProtocol::Dot1ad};
    auto error = refusal(change);
    EXPECT_EQ(error.code, Code::Unsupported) << error.message();
    EXPECT_EQ(error.sys, EPROTONOSUPPORT);
    change.vlan = netns::VfVlan{.id = 100, .qos = 8};
    error = refusal(change);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
    for (const int which : {0, 1, 2}) {
        VfSettings lacking;
        if (which == 0)
            lacking.link_state = netns::VfLinkState::On;
        if (which == 1)
            lacking.node_guid = 0x0211223344556677;
        if (which == 2)
            lacking.port_guid = 0x0211223344556677;
        error = refusal(lacking);
        EXPECT_EQ(error.code, Code::Unsupported) << which << error.message();
        EXPECT_EQ(error.sys, EOPNOTSUPP) << which;
    }
    VfSettings multicast;
    multicast.mac = *netns::parse_mac("03:00:5e:10:00:01");
    error = refusal(multicast);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
    EXPECT_EQ(settings(), fresh);
}

TEST_P(VfsContract, ARefusalStopsHalfWay) {
    VfSettings change;
    change.trust = true;
    change.link_state = netns::VfLinkState::Off;
    EXPECT_EQ(refusal(change).sys, EOPNOTSUPP);
    EXPECT_EQ(settings().trust, true);
}

TEST_P(VfsContract, RatesAreAtMostTheLinks) {
    VfSettings change;
    change.rate = netns::VfRate{.min = 0, .max = 1000};
    // igb refuses all rates until the PF's link is up.
    const auto deadline = Deadline::in(kPatience);
    auto done = configure(change);
    while (!done && !deadline.passed())
        done = configure(change);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(settings().rate, change.rate);
    for (const auto& rate : {netns::VfRate{.min = 0, .max = 1001},
                             netns::VfRate{.min = 100, .max = 200},
                             netns::VfRate{.min = 300, .max = 200}}) {
        VfSettings wrong;
        wrong.rate = rate;
        const auto error = refusal(wrong);
        EXPECT_EQ(error.code, Code::BadInput) << rate.max << error.message();
        EXPECT_EQ(error.sys, EINVAL) << rate.max;
    }
    VfSettings none;
    none.rate = netns::VfRate{};
    EXPECT_TRUE(configure(none));
    EXPECT_EQ(settings().rate, none.rate);
}

TEST_P(VfsContract, TheNumberOfVfsChangesFromAndToNoneOnly) {
    const Error busy = error_of(room().set_num_vfs(kPf, kVfs + 1));
    EXPECT_EQ(busy.code, Code::Busy) << busy.message();
    EXPECT_EQ(busy.sys, EBUSY);
    const Error many = error_of(room().set_num_vfs(kPf, 8));
    EXPECT_EQ(many.code, Code::BadInput) << many.message();
    EXPECT_EQ(many.sys, ERANGE);
    EXPECT_TRUE(room().set_num_vfs(kPf, kVfs));
    EXPECT_EQ(netdev_of(*outside_, kVf), vf_);
    EXPECT_EQ(room().set_num_vfs(kVf, 1).error().code, Code::Unavailable);
    ASSERT_TRUE(links().move(host_ns(), outside_->container_ns(), vf_.index, {.name = "rdma0"}));
    ASSERT_TRUE(room().set_num_vfs(kPf, 0));
    EXPECT_FALSE(room().find(kVf).value());
    EXPECT_FALSE(links().find_by_name(outside_->container_ns(), "rdma0").value());
}

TEST_P(VfsContract, VfsAreMadeWithoutDrivers) {
    const auto driver_of = [&](const char* vf) { return room().find(vf).value()->driver; };
    EXPECT_EQ(room().autoprobe(kPf).value(), true);
    EXPECT_FALSE(room().autoprobe(kVf).value());
    ASSERT_TRUE(room().set_num_vfs(kPf, 0));
    ASSERT_TRUE(room().set_autoprobe(kPf, false));
    EXPECT_EQ(room().autoprobe(kPf).value(), false);
    ASSERT_TRUE(room().set_num_vfs(kPf, kVfs));
    EXPECT_EQ(driver_of(kVf), "");
    EXPECT_EQ(settings().mac, netns::Mac{}) << "none has asked for one yet";
    VfSettings change;
    change.mac = given_;
    ASSERT_TRUE(configure(change));
    ASSERT_TRUE(room().bind(kVf, {}));
    EXPECT_EQ(driver_of(kVf), "") << "the kernel gives it to none";
    const auto by_name = room().bind(kVf, "igbvf");
    ASSERT_TRUE(by_name) << by_name.error().message();
    vf_ = netdev_of(*outside_, kVf);
    EXPECT_EQ(mac(), given_);
    ASSERT_TRUE(room().unbind(kVf));
    ASSERT_TRUE(room().bind(kVf, {}));
    EXPECT_EQ(driver_of(kVf), "") << "as before";
    ASSERT_TRUE(room().set_autoprobe(kPf, true));
    EXPECT_EQ(driver_of(kVf), "") << "nobody looks at it again";
    ASSERT_TRUE(room().bind(kVf, {}));
    EXPECT_EQ(driver_of(kVf), "igbvf");
    vf_ = netdev_of(*outside_, kVf);
    EXPECT_EQ(mac(), given_);
}

TEST_P(VfsContract, AVfMayGiveItselfAMacUntilThePfHas) {
    const netns::Mac own = mac();
    ASSERT_TRUE(change_link({.mac = other_}));
    EXPECT_EQ(settings().mac, other_) << "the PF reports it as if it were set";
    ASSERT_TRUE(change_link({.mac = own}));
    VfSettings change;
    change.mac = given_;
    ASSERT_TRUE(configure(change));
    EXPECT_EQ(settings().mac, given_);
    EXPECT_EQ(mac(), own) << "not at once";
    const auto same = change_link({.mac = given_});
    ASSERT_FALSE(same) << "not even the PF's";
    EXPECT_EQ(same.error().code, Code::BadInput) << same.error().message();
    EXPECT_EQ(same.error().sys, EADDRNOTAVAIL);
    ASSERT_TRUE(change_link({.up = true}));
    EXPECT_EQ(mac(), own);
    ASSERT_TRUE(change_link({.up = false}));
    EXPECT_EQ(mac(), given_) << "the driver asks the PF when it goes down";
    EXPECT_TRUE(change_link({.mac = given_}));
    EXPECT_EQ(change_link({.mac = other_}).error().sys, EADDRNOTAVAIL);
}

TEST_P(VfsContract, AMacIsTakenBackByZeroAndTheVfsOwn) {
    const VfSettings fresh = settings();
    const netns::Mac own = mac();
    VfSettings change;
    change.mac = given_;
    ASSERT_TRUE(configure(change));
    ASSERT_TRUE(room().unbind(kVf));
    ASSERT_TRUE(room().bind(kVf, "igbvf"));
    vf_ = netdev_of(*outside_, kVf);
    EXPECT_EQ(mac(), given_);
    change.mac = netns::Mac{};
    ASSERT_TRUE(configure(change));
    EXPECT_EQ(settings().mac, netns::Mac{});
    EXPECT_EQ(mac(), given_);
    ASSERT_TRUE(change_link({.mac = own}));
    EXPECT_EQ(mac(), own);
    EXPECT_EQ(settings(), fresh);
}

TEST_P(VfsContract, ATrustedVfChoosesItsMac) {
    VfSettings change;
    change.mac = given_;
    change.trust = true;
    ASSERT_TRUE(configure(change));
    ASSERT_TRUE(change_link({.mac = other_}));
    EXPECT_EQ(mac(), other_);
    EXPECT_EQ(settings().mac, other_);
}

TEST_P(VfsContract, DriversComeAndGo) {
    for (int twice = 0; twice < 2; ++twice) {
        const auto done = room().unbind(kVf);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(room().find(kVf).value()->driver, "");
        EXPECT_TRUE(room().find(kVf).value()->netdevs.empty());
    }
    const auto none = room().wait_for_netdev(kVf, Deadline::in(std::chrono::milliseconds(10)));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Timeout);
    EXPECT_TRUE(room().wait_for_name(kVf, Deadline::in(kPatience)).value()) << "none";
    const Error wrong = error_of(room().bind(kVf, "igb"));
    EXPECT_EQ(wrong.code, Code::Unavailable) << wrong.message();
    EXPECT_EQ(wrong.sys, ENODEV);
    const Error unknown = error_of(room().bind(kVf, "no_such_driver"));
    EXPECT_EQ(unknown.code, Code::Unavailable) << unknown.message();
    EXPECT_EQ(unknown.sys, ENOENT);
    for (int twice = 0; twice < 2; ++twice)
        ASSERT_TRUE(room().bind(kVf, "igbvf"));
    const PciNetdev back = netdev_of(*outside_, kVf);
    EXPECT_NE(back.index, vf_.index);
    EXPECT_EQ(back.name, vf_.name) << "udev's";
    const Error other = error_of(room().bind(kVf, "igb"));
    EXPECT_EQ(other.code, Code::Busy);
    EXPECT_EQ(room().unbind("0000:77:00.0").error().code, Code::Unavailable);
    EXPECT_EQ(room().bind("0000:77:00.0", "igbvf").error().code, Code::Unavailable);
}

TEST_P(VfsContract, AVfInAContainer) {
    const Netns ns = outside_->container_ns();
    LinkChange change;
    change.name = "rdma0";
    change.mac = other_;
    change.mtu = 1400;
    change.up = true;
    change.index = 0x40000011;
    const auto done = links().move(host_ns(), ns, vf_.index, change);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_TRUE(room().find(kVf).value()->netdevs.empty());
    EXPECT_FALSE(room().find_by_netdev(vf_.name).value());
    const auto inside = links().find_by_device(ns, kVf).value();
    ASSERT_TRUE(inside);
    EXPECT_EQ(inside->name, "rdma0");
    EXPECT_EQ(inside->index, *change.index);
    EXPECT_EQ(inside->mac, other_);
    EXPECT_EQ(settings().mac, other_);
    ASSERT_TRUE(room().unbind(kVf)) << "it is in use: nobody asks";
    EXPECT_FALSE(links().find_by_device(ns, kVf).value());
    ASSERT_TRUE(room().bind(kVf, "igbvf"));
    EXPECT_NE(netdev_of(*outside_, kVf).name, "rdma0") << "back in the host, and new";
}

TEST_P(VfsContract, ANamespaceThatDiesGivesTheNetdevBack) {
    {
        const Netns made = outside_->host().namespaces.make().value();
        ASSERT_TRUE(links().move(host_ns(), made, vf_.index, {.name = "rdma0"}));
    }
    outside_->settle();
    const auto back = room().wait_for_netdev(kVf, Deadline::in(kPatience));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->name, "rdma0");
    EXPECT_EQ(back->index, vf_.index);
    EXPECT_FALSE(links().find(host_ns(), back->index).value()->up);
    const auto renamed = change_link({.name = vf_.name});
    EXPECT_TRUE(renamed) << renamed.error().message();
}

}  // namespace
}  // namespace test
