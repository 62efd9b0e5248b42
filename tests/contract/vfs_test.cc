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

class FakeVfs : public FakeOutside<Kernel::V7_3> {
  public:
    FakeVfs() {
        world().add_sriov("enp1s0", kPf, kVfs);
        world().pci.at(kPf).quirks.insert("udev");
    }

    PciNetdev netdev(const std::string& address) {
        EXPECT_TRUE(host().sriov.wait_for_name(address, Deadline::in(kPatience)).value());
        return host().sriov.find(address).value()->netdevs.at(0);
    }
};

class KernelVfs : public KernelOutside {
  public:
    KernelVfs() {
        // To destroy VFs takes the kernel a second: only if the test before has changed them.
        static std::optional<Seen> as_made;
        if (!missing().empty() || (as_made && look() == *as_made))
            return;
        EXPECT_TRUE(host().sriov.set_num_vfs(kPf, 0));
        // Before its VFs are made: a PF that is down answers none of them, so they get no MAC.
        EXPECT_TRUE(host().links.change(host_ns(), netdev(kPf).index, {.up = true}));
        EXPECT_TRUE(host().sriov.set_num_vfs(kPf, kVfs));
        (void)netdev(kVf);
        (void)netdev(kOtherVf);
        as_made = look();
    }

    static std::string missing() {
        const char* on_host = std::getenv("CONTRACT_ON_HOST");
        const auto pf = netns::make_kernel_sriov()->find(kPf);
        if (on_host == nullptr || !pf || !*pf || (*pf)->driver != "igb")
            return "a machine of the tests' own with an igb is wanted: tests/lab/run --nics igb";
        return KernelOutside::missing();
    }

    // The netdev is there at once, and udev gives it its name a moment later.
    PciNetdev netdev(const std::string& address) {
        EXPECT_TRUE(host().sriov.wait_for_netdev(address, Deadline::in(kPatience)));
        EXPECT_TRUE(host().sriov.wait_for_name(address, Deadline::in(kPatience)).value());
        return host().sriov.find(address).value()->netdevs.at(0);
    }

  private:
    struct Seen {
        std::vector<std::optional<netns::PciFunction>> functions;
        std::vector<std::optional<netns::Link>> links;
        std::vector<std::optional<VfSettings>> settings;
        bool operator==(const Seen&) const = default;
    };

    // The functions with all that is known of their netdevs and of what the PF keeps.
    Seen look() {
        Seen seen;
        for (const char* address : {kPf, kVf, kOtherVf}) {
            seen.functions.push_back(host().sriov.find(address).value());
            for (const auto& netdev :
                 seen.functions.back() ? seen.functions.back()->netdevs : std::vector<PciNetdev>{})
                seen.links.push_back(host().links.find(host_ns(), netdev.index).value());
        }
        for (uint32_t number = 0; number < kVfs; ++number) {
            if (auto kept = host().sriov.settings(host_ns(), seen.links.at(0)->index, number))
                seen.settings.push_back(*std::move(kept));
        }
        return seen;
    }
};

template <class Outside>
class VfsContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::missing(); !reason.empty())
            GTEST_SKIP() << reason;
        pf_ = outside_.netdev(kPf).index;
        vf_ = outside_.netdev(kVf);
    }

    netns::Sriov& room() { return outside_.host().sriov; }

    netns::Links& links() { return outside_.host().links; }

    Netns host_ns() { return outside_.host_ns(); }

    VfSettings settings(uint32_t number = 0) {
        return room().settings(host_ns(), pf_, number).value().value();
    }

    base::Result<> configure(const VfSettings& change, uint32_t number = 0) {
        return room().configure(host_ns(), pf_, number, change, Deadline::in(kPatience));
    }

    Error refusal(const VfSettings& change) { return error_of(configure(change)); }

    netns::Mac mac() { return links().find(host_ns(), vf_.index).value()->mac; }

    base::Result<> change(const LinkChange& wanted) {
        return links().change(host_ns(), vf_.index, wanted);
    }

    const netns::Mac given_ = *netns::parse_mac("02:00:5e:10:00:01");
    const netns::Mac other_ = *netns::parse_mac("02:00:5e:10:00:02");
    Outside outside_;
    uint32_t pf_ = 0;
    PciNetdev vf_;
};

struct VfsNames {
    template <class Outside>
    static std::string GetName(int) {  // NOLINT: GoogleTest's name
        return std::is_same_v<Outside, FakeVfs> ? "FakeIgb" : "KernelIgb";
    }
};

using VfsOutsides = testing::Types<FakeVfs, KernelVfs>;
TYPED_TEST_SUITE(VfsContract, VfsOutsides, VfsNames);

TYPED_TEST(VfsContract, FunctionsAreFound) {
    const auto pf = this->room().find(kPf).value();
    ASSERT_TRUE(pf);
    EXPECT_EQ(pf->driver, "igb");
    EXPECT_EQ(pf->pf, "");
    EXPECT_EQ(pf->total_vfs, 7U);
    EXPECT_EQ(pf->num_vfs, kVfs);
    EXPECT_EQ(pf->numa_node, -1);
    ASSERT_EQ(pf->netdevs.size(), 1U);
    EXPECT_EQ(pf->netdevs[0].name, "enp1s0");
    EXPECT_TRUE(pf->rdma_names.empty());
    const auto vf = this->room().find(kOtherVf).value();
    ASSERT_TRUE(vf);
    EXPECT_EQ(vf->driver, "igbvf");
    EXPECT_EQ(vf->pf, kPf);
    EXPECT_EQ(vf->number, 1U);
    EXPECT_EQ(vf->total_vfs, 0U);
    ASSERT_EQ(vf->netdevs.size(), 1U);
    EXPECT_EQ(vf->netdevs[0].name, "enp1s0v1");
    EXPECT_EQ(this->links().find(this->host_ns(), vf->netdevs[0].index).value()->device, kOtherVf);
    EXPECT_EQ(this->room().find_vf(kPf, 0).value(), kVf);
    EXPECT_EQ(this->room().find_by_netdev("enp1s0v0").value(), kVf);
    EXPECT_EQ(this->room().list_pfs().value().at(0), *pf);
}

TYPED_TEST(VfsContract, WhatIsNotThereIsNothing) {
    for (const char* address : {"0000:77:00.0", "", "../0000:01:00.0", "0000:01:00.0/net"})
        EXPECT_FALSE(this->room().find(address).value()) << address;
    EXPECT_FALSE(this->room().find_vf(kPf, kVfs).value());
    EXPECT_FALSE(this->room().find_vf(kVf, 0).value());
    for (const char* name : {"lo", "", "..", "missing", "enp1s0/device"}) {
        EXPECT_FALSE(this->room().find_by_netdev(name).value()) << name;
        EXPECT_FALSE(this->room().find_by_rdma(name).value()) << name;
    }
    for (const auto& [link, number] : {std::pair{this->pf_, kVfs}, {this->vf_.index, 0U}}) {
        const Error missing = error_of(this->room().settings(this->host_ns(), link, number));
        EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
    }
    VfSettings change;
    change.trust = true;
    const Error nobody = error_of(this->configure(change, kVfs));
    EXPECT_EQ(nobody.code, Code::Unavailable) << nobody.message();
}

TYPED_TEST(VfsContract, SettingsAreReadAndWritten) {
    const VfSettings fresh = this->settings();
    const VfSettings others = this->settings(1);
    VfSettings expected;
    expected.mac = this->mac();  // that the VF gave itself
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
    const auto done = this->configure(change);
    ASSERT_TRUE(done) << done.error().message();
    expected.vlan = change.vlan;
    expected.spoofchk = false;
    expected.trust = true;
    EXPECT_EQ(this->settings(), expected);
    EXPECT_EQ(this->settings(1), others);
    VfSettings back = fresh;
    back.mac.reset();
    back.rate.reset();
    back.link_state.reset();
    ASSERT_TRUE(this->configure(back));
    EXPECT_EQ(this->settings(), fresh);
}

TYPED_TEST(VfsContract, WhatIgbRefuses) {
    const VfSettings fresh = this->settings();
    VfSettings change;
    change.vlan = netns::VfVlan{.id = 100, .protocol = netns::VlanProtocol::Dot1ad};
    auto error = this->refusal(change);
    EXPECT_EQ(error.code, Code::Unsupported) << error.message();
    EXPECT_EQ(error.sys, EPROTONOSUPPORT);
    change.vlan = netns::VfVlan{.id = 100, .qos = 8};
    error = this->refusal(change);
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
        error = this->refusal(lacking);
        EXPECT_EQ(error.code, Code::Unsupported) << which << error.message();
        EXPECT_EQ(error.sys, EOPNOTSUPP) << which;
    }
    VfSettings multicast;
    multicast.mac = *netns::parse_mac("03:00:5e:10:00:01");
    error = this->refusal(multicast);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
    EXPECT_EQ(this->settings(), fresh);
}

TYPED_TEST(VfsContract, ARefusalStopsHalfWay) {
    VfSettings change;
    change.trust = true;
    change.link_state = netns::VfLinkState::Off;
    EXPECT_EQ(this->refusal(change).sys, EOPNOTSUPP);
    EXPECT_EQ(this->settings().trust, true);
}

TYPED_TEST(VfsContract, RatesAreAtMostTheLinks) {
    VfSettings change;
    change.rate = netns::VfRate{.min = 0, .max = 1000};
    // igb refuses all rates until the PF's link is up.
    const auto deadline = Deadline::in(kPatience);
    auto done = this->configure(change);
    while (!done && !deadline.passed())
        done = this->configure(change);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(this->settings().rate, change.rate);
    for (const auto& rate : {netns::VfRate{.min = 0, .max = 1001},
                             netns::VfRate{.min = 100, .max = 200},
                             netns::VfRate{.min = 300, .max = 200}}) {
        VfSettings wrong;
        wrong.rate = rate;
        const auto error = this->refusal(wrong);
        EXPECT_EQ(error.code, Code::BadInput) << rate.max << error.message();
        EXPECT_EQ(error.sys, EINVAL) << rate.max;
    }
    VfSettings none;
    none.rate = netns::VfRate{};
    EXPECT_TRUE(this->configure(none));
    EXPECT_EQ(this->settings().rate, none.rate);
}

TYPED_TEST(VfsContract, TheNumberOfVfsChangesFromAndToNoneOnly) {
    const Error busy = error_of(this->room().set_num_vfs(kPf, kVfs + 1));
    EXPECT_EQ(busy.code, Code::Busy) << busy.message();
    EXPECT_EQ(busy.sys, EBUSY);
    const Error many = error_of(this->room().set_num_vfs(kPf, 8));
    EXPECT_EQ(many.code, Code::BadInput) << many.message();
    EXPECT_EQ(many.sys, ERANGE);
    EXPECT_TRUE(this->room().set_num_vfs(kPf, kVfs));
    EXPECT_EQ(this->outside_.netdev(kVf), this->vf_);
    EXPECT_EQ(this->room().set_num_vfs(kVf, 1).error().code, Code::Unavailable);
    ASSERT_TRUE(this->links().move(
        this->host_ns(), this->outside_.container_ns(), this->vf_.index, {.name = "rdma0"}));
    ASSERT_TRUE(this->room().set_num_vfs(kPf, 0));
    EXPECT_FALSE(this->room().find(kVf).value());
    EXPECT_FALSE(this->links().find_by_name(this->outside_.container_ns(), "rdma0").value());
}

TYPED_TEST(VfsContract, VfsAreMadeWithoutDrivers) {
    const auto driver_of = [&](const char* vf) { return this->room().find(vf).value()->driver; };
    EXPECT_EQ(this->room().autoprobe(kPf).value(), true);
    EXPECT_FALSE(this->room().autoprobe(kVf).value());
    ASSERT_TRUE(this->room().set_num_vfs(kPf, 0));
    ASSERT_TRUE(this->room().set_autoprobe(kPf, false));
    EXPECT_EQ(this->room().autoprobe(kPf).value(), false);
    ASSERT_TRUE(this->room().set_num_vfs(kPf, kVfs));
    EXPECT_EQ(driver_of(kVf), "");
    EXPECT_EQ(this->settings().mac, netns::Mac{}) << "none has asked for one yet";
    VfSettings change;
    change.mac = this->given_;
    ASSERT_TRUE(this->configure(change));
    ASSERT_TRUE(this->room().bind(kVf, {}));
    EXPECT_EQ(driver_of(kVf), "") << "the kernel gives it to none";
    const auto by_name = this->room().bind(kVf, "igbvf");
    ASSERT_TRUE(by_name) << by_name.error().message();
    this->vf_ = this->outside_.netdev(kVf);
    EXPECT_EQ(this->mac(), this->given_);
    ASSERT_TRUE(this->room().unbind(kVf));
    ASSERT_TRUE(this->room().bind(kVf, {}));
    EXPECT_EQ(driver_of(kVf), "") << "as before";
    ASSERT_TRUE(this->room().set_autoprobe(kPf, true));
    EXPECT_EQ(driver_of(kVf), "") << "nobody looks at it again";
    ASSERT_TRUE(this->room().bind(kVf, {}));
    EXPECT_EQ(driver_of(kVf), "igbvf");
    this->vf_ = this->outside_.netdev(kVf);
    EXPECT_EQ(this->mac(), this->given_);
}

TYPED_TEST(VfsContract, AVfMayGiveItselfAMacUntilThePfHas) {
    const netns::Mac own = this->mac();
    ASSERT_TRUE(this->change({.mac = this->other_}));
    EXPECT_EQ(this->settings().mac, this->other_) << "the PF reports it as if it were set";
    ASSERT_TRUE(this->change({.mac = own}));
    VfSettings change;
    change.mac = this->given_;
    ASSERT_TRUE(this->configure(change));
    EXPECT_EQ(this->settings().mac, this->given_);
    EXPECT_EQ(this->mac(), own) << "not at once";
    const auto same = this->change({.mac = this->given_});
    ASSERT_FALSE(same) << "not even the PF's";
    EXPECT_EQ(same.error().code, Code::BadInput) << same.error().message();
    EXPECT_EQ(same.error().sys, EADDRNOTAVAIL);
    ASSERT_TRUE(this->change({.up = true}));
    EXPECT_EQ(this->mac(), own);
    ASSERT_TRUE(this->change({.up = false}));
    EXPECT_EQ(this->mac(), this->given_) << "the driver asks the PF when it goes down";
    EXPECT_TRUE(this->change({.mac = this->given_}));
    EXPECT_EQ(this->change({.mac = this->other_}).error().sys, EADDRNOTAVAIL);
}

TYPED_TEST(VfsContract, AMacIsTakenBackByZeroAndTheVfsOwn) {
    const VfSettings fresh = this->settings();
    const netns::Mac own = this->mac();
    VfSettings change;
    change.mac = this->given_;
    ASSERT_TRUE(this->configure(change));
    ASSERT_TRUE(this->room().unbind(kVf));
    ASSERT_TRUE(this->room().bind(kVf, "igbvf"));
    this->vf_ = this->outside_.netdev(kVf);
    EXPECT_EQ(this->mac(), this->given_);
    change.mac = netns::Mac{};
    ASSERT_TRUE(this->configure(change));
    EXPECT_EQ(this->settings().mac, netns::Mac{});
    EXPECT_EQ(this->mac(), this->given_);
    ASSERT_TRUE(this->change({.mac = own}));
    EXPECT_EQ(this->mac(), own);
    EXPECT_EQ(this->settings(), fresh);
}

TYPED_TEST(VfsContract, ATrustedVfChoosesItsMac) {
    VfSettings change;
    change.mac = this->given_;
    change.trust = true;
    ASSERT_TRUE(this->configure(change));
    ASSERT_TRUE(this->change({.mac = this->other_}));
    EXPECT_EQ(this->mac(), this->other_);
    EXPECT_EQ(this->settings().mac, this->other_);
}

TYPED_TEST(VfsContract, DriversComeAndGo) {
    for (int twice = 0; twice < 2; ++twice) {
        const auto done = this->room().unbind(kVf);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(this->room().find(kVf).value()->driver, "");
        EXPECT_TRUE(this->room().find(kVf).value()->netdevs.empty());
    }
    const auto none =
        this->room().wait_for_netdev(kVf, Deadline::in(std::chrono::milliseconds(10)));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Timeout);
    EXPECT_TRUE(this->room().wait_for_name(kVf, Deadline::in(kPatience)).value()) << "none";
    const Error wrong = error_of(this->room().bind(kVf, "igb"));
    EXPECT_EQ(wrong.code, Code::Unavailable) << wrong.message();
    EXPECT_EQ(wrong.sys, ENODEV);
    const Error unknown = error_of(this->room().bind(kVf, "no_such_driver"));
    EXPECT_EQ(unknown.code, Code::Unavailable) << unknown.message();
    EXPECT_EQ(unknown.sys, ENOENT);
    for (int twice = 0; twice < 2; ++twice)
        ASSERT_TRUE(this->room().bind(kVf, "igbvf"));
    const PciNetdev back = this->outside_.netdev(kVf);
    EXPECT_NE(back.index, this->vf_.index);
    EXPECT_EQ(back.name, this->vf_.name) << "udev's";
    const Error other = error_of(this->room().bind(kVf, "igb"));
    EXPECT_EQ(other.code, Code::Busy);
    EXPECT_EQ(this->room().unbind("0000:77:00.0").error().code, Code::Unavailable);
    EXPECT_EQ(this->room().bind("0000:77:00.0", "igbvf").error().code, Code::Unavailable);
}

TYPED_TEST(VfsContract, AVfInAContainer) {
    const Netns ns = this->outside_.container_ns();
    LinkChange change;
    change.name = "rdma0";
    change.mac = this->other_;
    change.mtu = 1400;
    change.up = true;
    change.index = 0x40000011;
    const auto done = this->links().move(this->host_ns(), ns, this->vf_.index, change);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_TRUE(this->room().find(kVf).value()->netdevs.empty());
    EXPECT_FALSE(this->room().find_by_netdev(this->vf_.name).value());
    const auto inside = this->links().find_by_device(ns, kVf).value();
    ASSERT_TRUE(inside);
    EXPECT_EQ(inside->name, "rdma0");
    EXPECT_EQ(inside->index, *change.index);
    EXPECT_EQ(inside->mac, this->other_);
    EXPECT_EQ(this->settings().mac, this->other_);
    ASSERT_TRUE(this->room().unbind(kVf)) << "it is in use: nobody asks";
    EXPECT_FALSE(this->links().find_by_device(ns, kVf).value());
    ASSERT_TRUE(this->room().bind(kVf, "igbvf"));
    EXPECT_NE(this->outside_.netdev(kVf).name, "rdma0") << "back in the host, and new";
}

TYPED_TEST(VfsContract, ANamespaceThatDiesGivesTheNetdevBack) {
    {
        const Netns made = this->outside_.host().namespaces.make().value();
        ASSERT_TRUE(this->links().move(this->host_ns(), made, this->vf_.index, {.name = "rdma0"}));
    }
    this->outside_.settle();
    const auto back = this->room().wait_for_netdev(kVf, Deadline::in(kPatience));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->name, "rdma0");
    EXPECT_EQ(back->index, this->vf_.index);
    EXPECT_FALSE(this->links().find(this->host_ns(), back->index).value()->up);
    const auto renamed = this->change({.name = this->vf_.name});
    EXPECT_TRUE(renamed) << renamed.error().message();
}

}  // namespace
}  // namespace test
