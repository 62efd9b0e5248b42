// SPDX-License-Identifier: Apache-2.0
// rdmactl asap2 over a fake host with a bare ConnectX and Open vSwitch. budget: each way that it
// can end is a test, and they share the host.
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/support/regex.h"
#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {

using hook::ctl::Answer;
using testing::HasSubstr;

// Drivers that change the mode over VFs, that change it before there are any, that have no ports
// for VFs in devlink.
constexpr Nic kSwitches[] = {Nic::Mlx5, Nic::Mlx5New, Nic::Ice, Nic::Bnxt};

// A PF in mode legacy, with `vfs` VFs, and Open vSwitch without a bridge.
World bare_world(uint32_t vfs, Nic nic = Nic::Mlx5) {
    World world = World::standard(KernelTraits::v7_3());
    world.add_sriov("enp1s0", kPf, vfs, nic);
    world.pci.at(kPf).quirks.insert("udev");
    world.add_eswitch(kEswitch, world.netdev_of(kPf)->second, vfs);
    world.eswitches.at(kEswitch).eswitch.inline_mode = netns::InlineMode::Link;
    world.ovs.installed = true;
    world.ovs.settings.version = "3.5.0";
    return world;
}

// A host with one run of rdmactl after the other.
class Asap2Host {
  public:
    explicit Asap2Host(World world) : fake(std::move(world)) {
        options.load_config = [this]() -> base::Result<hook::Config> { return state.config(); };
        options.pf = "enp1s0";
        options.count = 2;
        options.bridge = "br0";
    }

    using Verb = base::Result<Answer> (*)(const hook::ctl::Options&, netns::Host&);

    base::Result<Answer> run(Verb verb) {
        netns::Host host = fake.host();
        auto answer = verb(options, host);
        calls = fake.gate.mutating_calls();
        fake.settle();
        return answer;
    }

    base::Result<Answer> enable() { return run(hook::ctl::asap2_enable); }

    base::Result<Answer> disable() { return run(hook::ctl::asap2_disable); }

    FakeHost fake;
    StateDir state;
    hook::ctl::Options options;
    int calls = 0;
};

// Makes of a bare world the one that enable has to make.
World enabled(const World& bare) {
    Asap2Host host(bare);
    const auto answer = host.enable();
    EXPECT_TRUE(answer) << answer.error().message();
    return host.fake.world;
}

TEST(CtlAsap2, EnableMakesASwitch) {
    Asap2Host host(bare_world(0));
    const auto answer = host.enable();
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->json["devices"][0]["missing"], base::Json::array()) << answer->text;
    const World& world = host.fake.world;
    EXPECT_EQ(world.pci.at(kPf).num_vfs, 2U);
    const netns::Eswitch& eswitch = world.eswitches.at(kEswitch).eswitch;
    EXPECT_EQ(eswitch.mode, netns::EswitchMode::Switchdev);
    EXPECT_EQ(eswitch.inline_mode, netns::InlineMode::Transport);
    EXPECT_NE(world.representor(kEswitch, "pf0vf1"), 0U);
    EXPECT_EQ(world.ovs.settings.other_config.at("hw-offload"), "true");
    EXPECT_EQ(world.ovs.ports.at("enp1s0").bridge, "br0");
    for (uint32_t number = 0; number < 2; ++number) {
        const auto& vf = world.pci.at(world.vf_address(kPf, number));
        EXPECT_EQ(vf.driver, "mlx5_core");
        EXPECT_FALSE(vf.settings.mac->is_zero()) << "node GUIDs are made of it";
    }
}

TEST(CtlAsap2, ADryRunTellsAndDoesNothing) {
    using Would = std::vector<std::string>;
    Asap2Host host(bare_world(0));
    const auto would = [&](Asap2Host::Verb verb) {
        const World before = host.fake.world;
        const auto left = host.state.leftovers();
        host.options.dry_run = true;
        const auto answer = host.run(verb);
        host.options.dry_run = false;
        EXPECT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(host.fake.world, before) << difference(before, host.fake.world);
        EXPECT_EQ(host.state.leftovers(), left);
        return answer ? answer->json["would"].get<Would>() : Would{"nothing"};
    };
    host.options.tc_policy = "skip_sw";
    EXPECT_EQ(would(hook::ctl::asap2_enable),
              (Would{"make 2 VFs of enp1s0",
                     "put the e-switch of pci/0000:01:00.0 into mode switchdev",
                     "switch hw-tc-offload of enp1s0 on",
                     "set other_config:hw-offload=true of Open vSwitch",
                     "set other_config:tc-policy=skip_sw of Open vSwitch",
                     "make bridge br0 of Open vSwitch",
                     "put enp1s0 on bridge br0"}));
    EXPECT_EQ(would(hook::ctl::asap2_disable), Would{}) << "nobody has enabled it";
    ASSERT_TRUE(host.enable());
    EXPECT_EQ(would(hook::ctl::asap2_enable), Would{});
    EXPECT_EQ(would(hook::ctl::asap2_disable),
              (Would{"take off bridge br0 what enable put on it",
                     "destroy the 2 VFs of enp1s0",
                     "put the e-switch of pci/0000:01:00.0 into mode legacy",
                     "switch hw-tc-offload of enp1s0 off",
                     "remove other_config:hw-offload of Open vSwitch",
                     "remove other_config:tc-policy of Open vSwitch"}));
    host.options.bridge = "br1";
    host.options.dry_run = true;
    EXPECT_FALSE(host.enable()) << "what is refused, is refused";
}

TEST(CtlAsap2, ASecondTimeChangesNothing) {
    Asap2Host host(bare_world(0));
    ASSERT_TRUE(host.enable());
    const World once = host.fake.world;
    ASSERT_TRUE(host.enable());
    EXPECT_EQ(host.fake.world, once) << difference(once, host.fake.world);
    const auto changes = [&] {
        netns::Host rooms = host.fake.host();
        EXPECT_TRUE(hook::ctl::asap2_enable(host.options, rooms));
        std::vector<std::string> calls = host.fake.gate.calls();
        std::erase_if(calls, [](const std::string& call) {
            return call.find("/state") != std::string::npos;  // our own record
        });
        return calls;
    };
    EXPECT_EQ(changes(), std::vector<std::string>{});
}

// Kernels number what is made anew as they like, so that only the rest can be compared.
std::string shape(const World& world) {
    std::string text = replace_matches(to_string(world), "(link|rdma|uverbs) ?[0-9]+", "$1 N");
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    std::ranges::sort(lines);
    return fmt::format("{}", fmt::join(lines, "\n"));
}

// VFs that are made again, or that had no MAC, have one of rdmactl's afterwards.
World with_macs_of(World world, const World& other) {
    for (auto& [address, function] : world.pci) {
        const auto there = other.pci.find(address);
        if (function.pf.empty() || there == other.pci.end() ||
            there->second.settings.mac->is_zero())
            continue;
        function.settings.mac = there->second.settings.mac;
        const auto netdev = world.netdev_of(address);
        world.set_mac(netdev->first, netdev->second, *function.settings.mac);
        for (auto& [index, device] : world.rdma) {
            if (device.pci == address)
                device.device.node_guid = netns::eui64(*function.settings.mac);
        }
    }
    return world;
}

TEST(CtlAsap2, DisableBringsTheHostBack) {
    for (const Nic nic : kSwitches) {
        for (const uint32_t vfs : {0U, 2U}) {
            const World bare = bare_world(vfs, nic);
            Asap2Host host(bare);
            const auto enabled = host.enable();
            ASSERT_TRUE(enabled) << adapter(nic).name << enabled.error().message();
            EXPECT_EQ(enabled->json["devices"][0]["missing"], base::Json::array())
                << adapter(nic).name << enabled->text;
            const auto answer = host.disable();
            ASSERT_TRUE(answer) << adapter(nic).name << answer.error().message();
            World after = host.fake.world;
            // A mark stays: it says that the daemon has not seen the last change.
            after.ovs.settings.marks.clear();
            const World before = with_macs_of(bare, after);
            EXPECT_EQ(after, before) << adapter(nic).name << difference(before, after);
            EXPECT_EQ(host.state.leftovers(), std::vector<std::string>{});
            ASSERT_TRUE(host.disable()) << "once more";
        }
    }
}

using Arm = std::function<void(Gate&, int)>;

const std::vector<std::pair<std::string, Arm>>& faults() {
    static const std::vector<std::pair<std::string, Arm>> all = {
        {"fails", [](Gate& gate, int k) { gate.fail_call(k, EBUSY); }},
        {"lies", [](Gate& gate, int k) { gate.lie_call(k, EIO); }},
        {"crashes before", [](Gate& gate, int k) { gate.crash_call(k); }},
        {"crashes after", [](Gate& gate, int k) { gate.crash_after(k); }},
    };
    return all;
}

// Runs a verb with one fault; whether the fault was reached.
bool run_faulty(Asap2Host& host, Asap2Host::Verb verb, const Arm& arm, int k) {
    arm(host.fake.gate, k);
    try {
        (void)host.run(verb);
        return host.calls > k;
    } catch (const Crash&) {
        host.fake.settle();
        return true;
    }
}

// Adapters, and how many VFs they have at first.
const std::vector<std::pair<Nic, uint32_t>>& starts() {
    static const std::vector<std::pair<Nic, uint32_t>> all = {
        {Nic::Mlx5, 0}, {Nic::Mlx5, 2}, {Nic::Ice, 0}, {Nic::Ice, 2}};
    return all;
}

void expect_enable_again(const World& bare) {
    const World wanted = enabled(bare);
    for (const auto& [name, arm] : faults()) {
        bool reached = true;
        for (int k = 0; reached; ++k) {
            Asap2Host host(bare);
            reached = run_faulty(host, hook::ctl::asap2_enable, arm, k);
            const auto again = host.enable();
            ASSERT_TRUE(again) << name << " at call " << k << ": " << again.error().message();
            EXPECT_EQ(shape(host.fake.world), shape(wanted)) << name << " at call " << k;
        }
    }
}

TEST(CtlAsap2, EnableThatWasInterruptedAnywhereCanBeRunAgain) {
    for (const auto& [nic, vfs] : starts()) {
        SCOPED_TRACE(adapter(nic).name + " with VFs: " + std::to_string(vfs));
        expect_enable_again(bare_world(vfs, nic));
    }
}

void expect_disable_again(const World& bare) {
    Asap2Host whole(bare);
    ASSERT_TRUE(whole.enable());
    ASSERT_TRUE(whole.disable());
    const World wanted = whole.fake.world;
    for (const auto& [name, arm] : faults()) {
        bool reached = true;
        for (int k = 0; reached; ++k) {
            Asap2Host host(bare);
            ASSERT_TRUE(host.enable());
            reached = run_faulty(host, hook::ctl::asap2_disable, arm, k);
            const auto again = host.disable();
            ASSERT_TRUE(again) << name << " at call " << k << ": " << again.error().message();
            EXPECT_EQ(shape(host.fake.world), shape(wanted)) << name << " at call " << k;
            EXPECT_EQ(host.state.leftovers(), std::vector<std::string>{}) << name << k;
        }
    }
}

TEST(CtlAsap2, DisableThatWasInterruptedAnywhereCanBeRunAgain) {
    for (const auto& [nic, vfs] : starts()) {
        SCOPED_TRACE(adapter(nic).name + " with VFs: " + std::to_string(vfs));
        expect_disable_again(bare_world(vfs, nic));
    }
}

void expect_nothing_of_a_failure(const World& bare) {
    bool reached = true;
    for (int k = 0; reached; ++k) {
        Asap2Host host(bare);
        host.fake.gate.fail_call(k, EBUSY);
        const bool done = host.enable().has_value();
        reached = host.calls > k;
        if (done)
            continue;
        World after = host.fake.world;
        after.ovs.settings.marks.clear();
        const World before = with_macs_of(bare, after);
        EXPECT_EQ(after, before) << "call " << k << ":\n" << difference(before, after);
    }
}

TEST(CtlAsap2, EnableThatFailsLeavesNothing) {
    for (const auto& [nic, vfs] : starts()) {
        SCOPED_TRACE(adapter(nic).name + " with VFs: " + std::to_string(vfs));
        expect_nothing_of_a_failure(bare_world(vfs, nic));
    }
}

TEST(CtlAsap2, WhatOthersMadeStays) {
    World bare = bare_world(0);
    bare.ovs.settings.other_config["hw-offload"] = "true";
    netns::Link own;
    own.name = "br0";
    own.kind = "openvswitch";
    bare.add_link(bare.host, own);
    bare.ovs.bridges["br0"] = {
        .name = "br0", .ports = 0, .tunnels = false, .marks = {{"owner", "neutron"}}};
    bare.ovs.ports["enp1s0"].name = "enp1s0";
    bare.ovs.ports["enp1s0"].bridge = "br0";
    Asap2Host host(bare);
    ASSERT_TRUE(host.enable());
    ASSERT_TRUE(host.disable());
    EXPECT_EQ(host.fake.world, bare) << difference(bare, host.fake.world);
}

TEST(CtlAsap2, RefusalsChangeNothing) {
    const struct {
        const char* what;
        std::function<void(World&, hook::ctl::Options&)> change;
        Code code;
        const char* words;
    } rows[] = {
        {"no VFs, none asked for",
         [](World&, auto& options) { options.count = 0; },
         Code::Usage,
         "--vfs"},
        {"no e-switch",
         [](World& world, auto&) { world.eswitches.clear(); },
         Code::Refused,
         "no e-switch"},
        {"no such device",
         [](World&, auto& options) { options.pf = "netdevsim/netdevsim7"; },
         Code::Unavailable,
         "devlink dev show"},
        {"no Open vSwitch",
         [](World& world, auto&) { world.ovs.installed = false; },
         Code::Unavailable,
         "apt-get install openvswitch-switch && systemctl enable --now openvswitch-switch"},
        {"no name for a bridge",
         [](World&, auto& options) { options.bridge = "../br0"; },
         Code::Usage,
         "bridge"},
        {"an address on the uplink",
         [](World& world, auto&) {
             const auto at = *world.netdev_of(kPf);
             world.find_link(at.first, at.second)
                 ->addresses.push_back(*netns::parse_cidr("10.1.0.1/24"));
         },
         Code::Refused,
         "10.1.0.1/24"},
        {"the uplink is on another bridge",
         [](World& world, auto&) {
             world.ovs.ports["enp1s0"].name = "enp1s0";
             world.ovs.ports["enp1s0"].bridge = "br-ex";
         },
         Code::Refused,
         "br-ex"},
        {"the e-switch is busy",
         [](World& world, auto&) { world.eswitches.at(kEswitch).busy = true; },
         Code::Busy,
         "dmesg"},
        {"the database is off",
         [](World& world, auto&) { world.ovs.server = false; },
         Code::Unavailable,
         "database"},
    };

    for (const auto& row : rows) {
        World bare = bare_world(0);
        hook::ctl::Options ignored;
        Asap2Host host(bare);
        row.change(host.fake.world, host.options);
        const World before = host.fake.world;
        const auto answer = host.enable();
        ASSERT_FALSE(answer) << row.what;
        EXPECT_EQ(answer.error().code, row.code) << row.what << answer.error().message();
        EXPECT_THAT(answer.error().message(), HasSubstr(row.words)) << row.what;
        World after = host.fake.world;
        after.ovs.settings.marks = before.ovs.settings.marks;
        EXPECT_EQ(after, before) << row.what << "\n" << difference(before, after);
    }
}

TEST(CtlAsap2, ABondOfTheUplinkIsTheBridgesPort) {
    World bare = bare_world(0);
    netns::Link bond;
    bond.name = "bond0";
    bond.kind = "bond";
    bond.up = true;
    const uint32_t index = bare.add_link(bare.host, bond);
    const auto at = *bare.netdev_of(kPf);
    bare.find_link(at.first, at.second)->link.master = index;
    Asap2Host host(bare);
    ASSERT_TRUE(host.enable());
    EXPECT_TRUE(host.fake.world.ovs.ports.contains("bond0"));
    EXPECT_FALSE(host.fake.world.ovs.ports.contains("enp1s0"));
    ASSERT_TRUE(host.disable());
    EXPECT_TRUE(host.fake.world.ovs.ports.empty());
}

TEST(CtlAsap2, StatusSaysWhatIsMissing) {
    Asap2Host host(bare_world(2));
    const auto missing = [&] {
        const auto answer = host.run(hook::ctl::asap2_status);
        return answer ? answer->text : answer.error().message();
    };
    EXPECT_THAT(missing(), HasSubstr("mode legacy"));
    EXPECT_THAT(missing(), HasSubstr("hw-offload of Open vSwitch is not true"));
    ASSERT_TRUE(host.enable());
    EXPECT_THAT(missing(), testing::Not(HasSubstr("missing")));
    World& world = host.fake.world;
    for (const char* port : {"pf0vf0", "pf0vf1"})
        world.find_link(world.host, world.representor(kEswitch, port))->tc_feature = {
            .on = false, .fixed = true};
    EXPECT_THAT(missing(), HasSubstr("CONFIG_MLX5_CLS_ACT"));
    const auto answer = host.run(hook::ctl::asap2_status);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->json["devices"][0]["missing"][0]["software_path"], true);
    host.options.pf.clear();
    EXPECT_THAT(missing(), HasSubstr("off [fixed]"));
    world.ovs.installed = false;
    EXPECT_THAT(missing(), HasSubstr("not running"));
}

// The uplink has the tunnels' address, and is no port of the bridge that sends by them.
TEST(CtlAsap2, AnUplinkOfTunnelsNeedsNoBridge) {
    Asap2Host host(bare_world(0));
    host.options.bridge = "";
    const auto missing = [&] {
        const auto answer = host.enable();
        EXPECT_TRUE(answer) << answer.error().message();
        return answer->json["devices"][0]["missing"].dump();
    };
    EXPECT_THAT(missing(), HasSubstr("enp1s0 is on no bridge, and has no address"));
    World& world = host.fake.world;
    auto& addresses =
        world.find_link(world.host, world.netdev_of("0000:01:00.0")->second)->addresses;
    addresses.push_back(*netns::parse_cidr("fe80::1/64"));
    EXPECT_THAT(missing(), HasSubstr("on no bridge"));
    addresses.push_back(*netns::parse_cidr("198.51.100.1/24"));
    EXPECT_EQ(missing(), "[]");
}

TEST(CtlAsap2, DisableDoesNotCutContainersOff) {
    Asap2Host host(bare_world(0));
    ASSERT_TRUE(host.enable());
    Life one{host.fake, host.state, "one"};
    one.annotations = {{"rdma.mode", "asap2"}, {"rdma.device", "enp1s0"}, {"rdma.bridge", "br0"}};
    ASSERT_TRUE(one.precreate());
    ASSERT_TRUE(one.create_runtime());
    const World before = host.fake.world;
    const Error answer = error_of(host.disable());
    EXPECT_THAT(answer.message(), HasSubstr("is in use by"));
    EXPECT_EQ(host.fake.world, before);
    ASSERT_TRUE(host.enable()) << "again, while it is in use";
    EXPECT_EQ(host.fake.world, before) << difference(before, host.fake.world);
    ASSERT_TRUE(one.poststop());
    EXPECT_TRUE(host.disable());
}

// The uplink stays on its bridge, too: others' frames go through it.
TEST(CtlAsap2, DisableIsRefusedBeforeAnythingOfIt) {
    Asap2Host host(bare_world(2));
    ASSERT_TRUE(host.enable());
    World& world = host.fake.world;
    const auto at = *world.netdev_of(world.vf_address(kPf, 1));
    world.find_link(at.first, at.second)->link.up = true;  // somebody's, on the host
    const World before = world;
    const Error answer = error_of(host.disable());
    EXPECT_EQ(answer.code, Code::Busy);
    EXPECT_THAT(answer.message(), HasSubstr("is in use"));
    EXPECT_EQ(world, before) << difference(before, world);
    world.find_link(at.first, at.second)->link.up = false;
    EXPECT_TRUE(host.disable());
}

TEST(CtlAsap2, DisableTakesNoVfFromItsUserToHaveAsManyAsBefore) {
    Asap2Host host(bare_world(2));
    ASSERT_TRUE(host.enable());
    World& world = host.fake.world;
    world.set_num_vfs(kPf, 0);
    world.set_num_vfs(kPf, 4);
    const std::string taken = world.vf_address(kPf, 3);
    world.unbind(taken);
    world.pci.at(taken).driver = "vfio-pci";
    const World before = world;
    const Error answer = error_of(host.disable());
    EXPECT_EQ(answer.code, Code::Busy);
    EXPECT_THAT(answer.message(), HasSubstr("vfio-pci"));
    EXPECT_EQ(world, before) << difference(before, world);
}

// Each VF is given to its driver once, with its MAC, however the host has its VFs probed.
TEST(CtlAsap2, EachVfIsProbedOnce) {
    for (const Nic nic : kSwitches) {
        for (const bool autoprobe : {true, false}) {
            Asap2Host host(bare_world(0, nic));
            host.fake.world.pci.at(kPf).autoprobe = autoprobe;
            const uint32_t binds = host.fake.world.binds.next;
            const auto answer = host.enable();
            ASSERT_TRUE(answer) << adapter(nic).name << answer.error().message();
            EXPECT_EQ(host.fake.world.binds.next - binds, 2U) << adapter(nic).name;
            EXPECT_EQ(host.fake.world.pci.at(kPf).autoprobe, autoprobe) << adapter(nic).name;
        }
    }
}

TEST(CtlAsap2, WhatAPfKeepsForVfsThatHaveToGoComesBack) {
    World bare = bare_world(2, Nic::Ice);
    netns::VfSettings& kept = bare.pci.at(bare.vf_address(kPf, 1)).settings;
    kept.mac = *netns::parse_mac("02:00:5e:10:00:07");
    kept.vlan = netns::VfVlan{.id = 7};
    kept.trust = true;
    const netns::VfSettings before = kept;
    Asap2Host host(bare);
    const auto now = [&] {
        return host.fake.world.pci.at(host.fake.world.vf_address(kPf, 1)).settings;
    };
    ASSERT_TRUE(host.enable());
    EXPECT_EQ(now().mac, before.mac);
    ASSERT_TRUE(host.disable());
    EXPECT_EQ(now(), before);
}

// A mode that no adapter of the kind has: the VFs are there again.
TEST(CtlAsap2, VfsThatWereTakenAwayInVainComeBack) {
    World bare = bare_world(2, Nic::Ice);
    bare.pci.at(kPf).quirks.insert("no_switchdev");
    Asap2Host host(bare);
    const Error answer = error_of(host.enable());
    EXPECT_EQ(answer.code, Code::Unsupported);
    World after = host.fake.world;
    const World before = with_macs_of(bare, after);
    EXPECT_EQ(after, before) << difference(before, after);
}

TEST(CtlAsap2, AnAdapterOfTheDpuStandsInNobodysWay) {
    World bare = bare_world(0);
    bare.add_sriov("enp9s0", "0000:09:00.0", 2, Nic::BluefieldHost);
    bare.add_eswitch("pci/0000:09:00.0", bare.netdev_of("0000:09:00.0")->second, 2);
    Asap2Host host(bare);
    host.options.pf.clear();
    const auto answer = host.run(hook::ctl::asap2_status);
    ASSERT_TRUE(answer) << answer.error().message();
    ASSERT_EQ(answer->json["devices"].size(), 1U);
    EXPECT_EQ(answer->json["devices"][0]["device"], kEswitch);
    host.options.pf = "enp9s0";
    const Error refused = error_of(host.enable());
    EXPECT_THAT(refused.message(), HasSubstr("BlueField in DPU mode is set up on the DPU"));
}

TEST(CtlAsap2, AnUplinkThatIsNotThereIsMissing) {
    Asap2Host host(bare_world(2, Nic::Mlx5New));
    ASSERT_TRUE(host.enable());
    World& world = host.fake.world;
    world.destroy_link(world.host, world.netdev_of(kPf)->second);
    host.options.pf.clear();
    const auto answer = host.run(hook::ctl::asap2_status);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->text, HasSubstr("missing: its uplink has no netdev on the host"));
    host.options.pf = kPf;
    EXPECT_FALSE(host.enable());
}

TEST(CtlAsap2, TheOtherPortOfABondIsNamed) {
    World bare = bare_world(0);
    bare.add_sriov("enp1s1", "0000:02:00.0", 0, Nic::Mlx5);
    bare.add_eswitch("pci/0000:02:00.0", bare.netdev_of("0000:02:00.0")->second, 0);
    netns::Link bond;
    bond.name = "bond0";
    bond.kind = "bond";
    bond.up = true;
    const uint32_t index = bare.add_link(bare.host, bond);
    for (const char* pf : {kPf, "0000:02:00.0"})
        bare.find_link(bare.host, bare.netdev_of(pf)->second)->link.master = index;
    Asap2Host host(bare);
    const auto answer = host.enable();
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->text, HasSubstr("enp1s1, the other port of bond0, is in mode legacy"));
    host.options.pf = "enp1s1";
    const auto both = host.enable();
    ASSERT_TRUE(both) << both.error().message();
    EXPECT_THAT(both->text, testing::Not(HasSubstr("the other port")));
}

TEST(CtlAsap2, NoContainerIsGivenAVfMeanwhile) {
    Asap2Host host(bare_world(2));
    Life one{host.fake, host.state, "one"};
    one.annotations = {{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}};
    int refused = 0;
    host.fake.gate.meanwhile = [&](int) {
        const std::string& call = host.fake.gate.calls().back();
        if (!call.starts_with("bind ") && !call.starts_with("set the mode"))
            return;
        const Error mine = error_of(one.precreate());
        EXPECT_EQ(mine.code, Code::Busy);
        EXPECT_THAT(mine.message(), HasSubstr("being set up by rdmactl"));
        ++refused;
    };
    EXPECT_TRUE(host.enable());
    host.fake.gate.meanwhile = nullptr;
    EXPECT_EQ(refused, 3);
}

// The driver makes the PF's RDMA device again with the mode.
TEST(CtlAsap2, EnableDoesNotCutUsersOfThePfsDeviceOff) {
    Asap2Host host(bare_world(0));
    Life one{host.fake, host.state, "one"};
    one.annotations = {
        {"rdma.mode", "shared"}, {"rdma.parent", "enp1s0"}, {"rdma.ip", "10.9.0.1/24"}};
    ASSERT_TRUE(one.start());
    const World before = host.fake.world;
    const Error refused = error_of(host.enable());
    EXPECT_EQ(refused.code, Code::Busy);
    EXPECT_THAT(refused.message(), HasSubstr("the RDMA device of enp1s0 is in use by " + one.id()));
    EXPECT_EQ(host.fake.world, before) << difference(before, host.fake.world);
    ASSERT_TRUE(one.poststop());
    const auto at = *host.fake.world.netdev_of(kPf);
    host.fake.world.find_link(at.first, at.second)
        ->addresses.push_back(*netns::parse_cidr("10.1.0.1/24"));
    one.annotations = {
        {"rdma.mode", "softroce"}, {"rdma.placement", "host"}, {"rdma.parent", "enp1s0"}};
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    host.options.bridge.clear();
    const Error again = error_of(host.enable());
    EXPECT_THAT(again.message(), HasSubstr("is in use by " + one.id()));
    ASSERT_TRUE(one.poststop());
    EXPECT_TRUE(host.enable());
}

// Only the baseline says how the host was before: without it neither verb goes on or replaces it.
TEST(CtlAsap2, ABaselineThatCannotBeReadIsLeft) {
    Asap2Host host(bare_world(0));
    ASSERT_TRUE(host.enable());
    base::RealFiles files;
    const std::string path = host.state.path() + "/eswitches/pci_0000:01:00.0.json";
    const std::string text = files.read(path, 1U << 20U).value();
    const std::string format = R"("format":1)";
    ASSERT_NE(text.find(format), std::string::npos) << text;
    std::string foreign = text;
    foreign.replace(foreign.find(format), format.size(), R"("format":2,"new":{"x":[1]})");
    const World before = host.fake.world;
    const std::pair<std::string, const char*> rows[] = {
        {foreign, ": it is of format 2"},
        {text.substr(0, text.size() / 2), ""},
        {replace_matches(text, R"("before":\{[^}]*\})", R"("before":null)"), ""},
        {"", ""},
        {"{}", ""},
        {"[]", ""},
    };

    for (const auto& [content, words] : rows) {
        ASSERT_NE(content, text);
        ASSERT_TRUE(files.write(path, content));
        for (const Asap2Host::Verb verb : {hook::ctl::asap2_enable, hook::ctl::asap2_disable}) {
            const auto answer = host.run(verb);
            ASSERT_FALSE(answer) << content;
            EXPECT_THAT(answer.error().message(), HasSubstr(path + words)) << content;
            EXPECT_EQ(host.fake.world, before) << content << difference(before, host.fake.world);
            EXPECT_EQ(files.read(path, 1U << 20U).value(), content);
        }
    }
    ASSERT_TRUE(files.write(path, text)) << "the version that wrote it comes back";
    EXPECT_TRUE(host.disable());
    EXPECT_EQ(host.state.leftovers(), std::vector<std::string>{});
}

}  // namespace
}  // namespace test
