// SPDX-License-Identifier: Apache-2.0
// rdmactl vf over a fake host with two SR-IOV adapters.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {

using testing::HasSubstr;

World two_adapters(uint32_t vfs) {
    World world = World::standard();
    world.add_sriov("enp1s0", kPf, vfs);
    world.add_sriov("enp2s0", "0000:02:00.0", 0, Nic::Mlx5);
    return world;
}

class CtlVf : public testing::Test {
  protected:
    explicit CtlVf(uint32_t vfs = 0) : fake_(two_adapters(vfs)), one_(fake_, state_, "one") {
        one_.annotations = {{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}};
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    }

    using Verb = base::Result<hook::ctl::Answer> (*)(const hook::ctl::Options&, netns::Host&);

    base::Result<hook::ctl::Answer> ask(Verb verb, const std::string& pf, uint32_t count = 0) {
        netns::Host host = fake_.host();
        options_.pf = pf;
        options_.count = count;
        auto answer = verb(options_, host);
        fake_.gate.restart();
        return answer;
    }

    base::Json vfs(const std::string& pf) {
        const auto answer = ask(hook::ctl::vf_list, pf);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? answer->json["pfs"][0]["vfs"] : base::Json{};
    }

    FakeHost fake_;
    StateDir state_;
    Life one_;
    hook::ctl::Options options_;
};

TEST_F(CtlVf, EnableMakesVfsWithMacsThatStayTheSame) {
    const auto made = ask(hook::ctl::vf_enable, "enp1s0", 4);
    ASSERT_TRUE(made) << made.error().message();
    const base::Json first = made->json["pfs"][0]["vfs"];
    ASSERT_EQ(first.size(), 4U);
    std::set<std::string> macs;
    for (const base::Json& vf : first) {
        EXPECT_EQ(vf["state"], "free") << vf;
        const auto mac = netns::parse_mac(vf["mac"].get<std::string>());
        ASSERT_TRUE(mac);
        EXPECT_FALSE(mac->is_multicast());
        EXPECT_EQ(fake_.world.pci.at(vf["address"]).settings.mac, *mac) << "through the PF";
        macs.insert(vf["mac"]);
    }
    EXPECT_EQ(macs.size(), 4U);
    const World before = fake_.world;
    ASSERT_TRUE(ask(hook::ctl::vf_enable, kPf, 4)) << "by address, and once more";
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    ASSERT_TRUE(ask(hook::ctl::vf_disable, "enp1s0"));
    EXPECT_TRUE(vfs("enp1s0").empty());
    ASSERT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 4));
    for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(vfs("enp1s0")[i]["mac"], first[i]["mac"]) << "as before";
}

TEST_F(CtlVf, ADryRunTellsAndDoesNothing) {
    using Would = std::vector<std::string>;
    options_.dry_run = true;
    const auto would = [&](Verb verb, uint32_t count) {
        const World now = fake_.world;
        const auto answer = ask(verb, "enp1s0", count);
        EXPECT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(fake_.world, now) << difference(now, fake_.world);
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
        return answer ? answer->json["would"].get<Would>() : Would{"nothing"};
    };
    EXPECT_EQ(would(hook::ctl::vf_enable, 4),
              Would{"make 4 VFs of enp1s0, each with a MAC and its driver"});
    EXPECT_EQ(would(hook::ctl::vf_disable, 0), Would{});
    EXPECT_FALSE(ask(hook::ctl::vf_enable, "enp1s0", 8)) << "what is refused, is refused";
    options_.dry_run = false;
    ASSERT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 4));
    options_.dry_run = true;
    EXPECT_EQ(would(hook::ctl::vf_enable, 4), Would{});
    EXPECT_EQ(would(hook::ctl::vf_enable, 2),
              (Would{"destroy the 4 VFs of enp1s0",
                     "make 2 VFs of enp1s0, each with a MAC and its driver"}));
    EXPECT_EQ(would(hook::ctl::vf_disable, 0), Would{"destroy the 4 VFs of enp1s0"});
    ASSERT_TRUE(fake_.host().sriov.unbind("0000:01:10.2"));
    EXPECT_EQ(would(hook::ctl::vf_enable, 4), Would{"give its driver to VF 1 of enp1s0"});
}

TEST_F(CtlVf, EnableWaitsForTheNamesThatUdevGives) {
    fake_.world.pci.at(kPf).quirks.insert("udev");
    const auto made = ask(hook::ctl::vf_enable, "enp1s0", 3);
    ASSERT_TRUE(made) << made.error().message();
    for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(made->json["pfs"][0]["vfs"][i]["netdev"], "enp1s0v" + std::to_string(i));
}

TEST_F(CtlVf, ByTheNameOfAnRdmaDevice) {
    const auto made = ask(hook::ctl::vf_enable, "mlx5_0", 2);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->json["pfs"][0]["netdev"], "enp2s0");
    EXPECT_NE(made->json["pfs"][0]["vfs"][0]["rdma"], "");
}

TEST_F(CtlVf, ListShowsWhoHasThem) {
    ASSERT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 2));
    ASSERT_TRUE(one_.start());
    const base::Json all = vfs("enp1s0");
    EXPECT_EQ(all[0]["state"], "attached");
    ASSERT_EQ(all[0]["containers"].size(), 1U);
    EXPECT_EQ(all[1]["state"], "free");
    const auto answer = ask(hook::ctl::vf_list, "");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->json["pfs"].size(), 2U);
    EXPECT_THAT(answer->text, HasSubstr("enp1s0 (0000:01:00.0, igb): 2 of 7 VFs"));
    EXPECT_THAT(answer->text, HasSubstr("attached"));
}

TEST_F(CtlVf, WhatIsInUseIsNotDestroyed) {
    ASSERT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 2));
    ASSERT_TRUE(one_.start());
    const World before = fake_.world;
    for (const auto& refused :
         {ask(hook::ctl::vf_disable, "enp1s0"), ask(hook::ctl::vf_enable, "enp1s0", 3)}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::Busy);
        EXPECT_THAT(refused.error().message(),
                    HasSubstr("VF 0 of enp1s0 (0000:01:10.0) is in use"));
    }
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 2)) << "that many are there";
    // A virtual machine's: nothing says whether it runs.
    EXPECT_TRUE(one_.poststop());
    fake_.settle();
    ASSERT_TRUE(fake_.host().sriov.unbind("0000:01:10.2"));
    fake_.world.pci.at("0000:01:10.2").driver = "vfio-pci";
    const auto foreign = ask(hook::ctl::vf_disable, "enp1s0");
    ASSERT_FALSE(foreign);
}

TEST_F(CtlVf, WhatCannotBe) {
    for (const auto& [pf, count, text] : {std::tuple{"enp1s0", 0U, "1 to 7 VFs, not 0"},
                                          {"enp1s0", 8U, "1 to 7 VFs, not 8"},
                                          {"eth0", 1U, "eth0"},
                                          {"nothing", 1U, "no PCI function"}}) {
        const auto refused = ask(hook::ctl::vf_enable, pf, count);
        ASSERT_FALSE(refused) << pf << count;
        EXPECT_THAT(refused.error().message(), HasSubstr(text));
    }
}

// A container that comes while rdmactl works on an adapter waits for no lock: it is refused that
// adapter, and given another.
TEST_F(CtlVf, AnAdapterThatIsBeingSetUpIsNotGivenAndOthersAre) {
    fake_.world.set_num_vfs(kPf, 1);
    one_.annotations["rdma.device"] = "enp2s0";
    Life two{fake_, state_, "two"};
    two.annotations = {{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}};
    two.network = "/run/netns/two";
    two.init = 5001;
    fake_.world.engine_paths[two.network] = fake_.world.add_netns();
    int refused = 0;
    bool attached = false;
    fake_.gate.meanwhile = [&](int) {
        if (!fake_.gate.calls().back().starts_with("bind "))
            return;
        const auto begin = base::Deadline::Clock::now();
        const Error mine = error_of(one_.precreate());
        EXPECT_EQ(mine.code, Code::Busy);
        EXPECT_THAT(mine.message(), HasSubstr("being set up by rdmactl"));
        ++refused;
        if (!attached) {
            const auto other = two.precreate();
            EXPECT_TRUE(other) << other.error().message();
            attached = true;
        }
        EXPECT_LT(base::Deadline::Clock::now() - begin, std::chrono::seconds(10));
    };
    const auto made = ask(hook::ctl::vf_enable, "enp2s0", 3);
    fake_.gate.meanwhile = nullptr;
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_GE(refused, 2);
    EXPECT_TRUE(attached);
    EXPECT_TRUE(one_.start()) << "afterwards";
}

// Its lease ends by the next gc, or by the next run.
TEST_F(CtlVf, AnEnableThatWasKilledKeepsTheAdapterUntilGcComes) {
    ASSERT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 2));
    fake_.gate.crash_call(2);
    netns::Host host = fake_.host();
    options_.pf = "enp1s0";
    options_.count = 3;
    EXPECT_THROW((void)hook::ctl::vf_enable(options_, host), Crash);
    fake_.gate.restart();
    const auto collected = collect(fake_, state_);
    ASSERT_EQ(collected.leftovers.size(), 1U);
    EXPECT_THAT(collected.leftovers.front(), HasSubstr("leases/adapter-pci_0000:01:00.0"));
    EXPECT_TRUE(ask(hook::ctl::vf_enable, "enp1s0", 2));
    EXPECT_TRUE(one_.start());
}

// Each VF meets its driver once, when it has its MAC, however the host has its VFs probed.
TEST_F(CtlVf, EachVfOfEachAdapterIsProbedOnce) {
    for (const Adapter& row : adapters()) {
        if (row.quirks.contains("no_sriov"))
            continue;
        for (const bool autoprobe : {true, false}) {
            SCOPED_TRACE(row.name + (autoprobe ? "" : " without autoprobe"));
            fake_.world = World::standard();
            fake_.world.add_sriov("enp1s0", kPf, 0, row.nic);
            fake_.world.pci.at(kPf).autoprobe = autoprobe;
            const World before = fake_.world;
            const uint32_t binds = fake_.world.binds.next;
            const auto made = ask(hook::ctl::vf_enable, "enp1s0", 3);
            ASSERT_TRUE(made) << made.error().message();
            EXPECT_EQ(fake_.world.binds.next - binds, 3U);
            EXPECT_EQ(fake_.world.pci.at(kPf).autoprobe, autoprobe);
            for (const base::Json& vf : vfs("enp1s0")) {
                EXPECT_EQ(vf["state"], "free") << vf;
                EXPECT_EQ(vf["driver"], row.vf_driver);
                const auto& mac = fake_.world.pci.at(vf["address"]).settings.mac;
                EXPECT_TRUE(!row.ethernet || row.quirks.contains("no_vf_info") ||
                            (mac && !mac->is_zero()));
            }
            ASSERT_TRUE(ask(hook::ctl::vf_disable, "enp1s0"));
            EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
        }
    }
}

// They would be waited for one after the other, for longer than a unit's start may take.
TEST_F(CtlVf, OfVfsThatDoNotAnswerOneIsWaitedFor) {
    fake_.world.pci.at("0000:02:00.0").quirks.insert("dead_netdev");
    const World before = fake_.world;
    const Error refused = error_of(ask(hook::ctl::vf_enable, "enp2s0", 5));
    EXPECT_EQ(refused.code, Code::Timeout);
    EXPECT_EQ(refused.also.size(), 4U) << "each is named";
    EXPECT_EQ(fake_.sriov.netdev_waits, 1);
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
}

TEST_F(CtlVf, VfsThatAreThereWithoutDriversGetThem) {
    FakePci& pf = fake_.world.pci.at("0000:02:00.0");
    pf.autoprobe = false;
    fake_.world.set_num_vfs("0000:02:00.0", 3);
    fake_.world.pci.at(fake_.world.vf_address("0000:02:00.0", 2)).driver = "vfio-pci";
    const auto made = ask(hook::ctl::vf_enable, "enp2s0", 3);
    ASSERT_TRUE(made) << made.error().message();
    const base::Json all = vfs("enp2s0");
    EXPECT_EQ(all[0]["state"], "free");
    EXPECT_EQ(all[1]["state"], "free");
    EXPECT_EQ(all[2]["state"], "bound to vfio-pci") << "a virtual machine's";
    EXPECT_FALSE(pf.autoprobe);
}

TEST_F(CtlVf, AutoprobeComesBackWhateverHappens) {
    for (const bool autoprobe : {true, false}) {
        bool reached = true;
        for (int k = 0; reached; ++k) {
            SCOPED_TRACE(std::to_string(k) + (autoprobe ? "" : " without autoprobe"));
            fake_.world = two_adapters(0);
            fake_.world.pci.at(kPf).autoprobe = autoprobe;
            netns::Host host = fake_.host();
            options_.pf = "enp1s0";
            options_.count = 2;
            fake_.gate.crash_after(k);
            try {
                reached = hook::ctl::vf_enable(options_, host).has_value() &&
                          fake_.gate.mutating_calls() > k;
            } catch (const Crash&) {
            }
            fake_.gate.restart();
            (void)collect(fake_, state_);
            EXPECT_EQ(fake_.world.pci.at(kPf).autoprobe, autoprobe);
            EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
            const auto again = ask(hook::ctl::vf_enable, "enp1s0", 2);
            ASSERT_TRUE(again) << again.error().message();
            EXPECT_EQ(fake_.world.pci.at(kPf).autoprobe, autoprobe);
            for (const base::Json& vf : vfs("enp1s0"))
                EXPECT_EQ(vf["state"], "free") << vf;
        }
    }
}

TEST_F(CtlVf, AManagerThatBringsVfsUpDoesNotKeepMacsFromThem) {
    fake_.world.pci.at("0000:02:00.0").quirks.insert("manager");
    const auto made = ask(hook::ctl::vf_enable, "enp2s0", 2);
    ASSERT_TRUE(made) << made.error().message();
    for (const uint32_t number : {0U, 1U}) {
        const std::string vf = fake_.world.vf_address("0000:02:00.0", number);
        const auto mac = fake_.world.pci.at(vf).settings.mac;
        ASSERT_TRUE(mac);
        EXPECT_FALSE(mac->is_zero()) << number;
        const auto netdev = fake_.world.netdev_of(vf);
        EXPECT_EQ(fake_.world.find_link(netdev->first, netdev->second)->link.mac, *mac);
    }
}

TEST_F(CtlVf, AVfWithoutMacThatIsInUseIsNoSuccess) {
    fake_.world.set_num_vfs("0000:02:00.0", 2);
    const auto netdev = fake_.world.netdev_of(fake_.world.vf_address("0000:02:00.0", 1));
    fake_.world.set_up(netdev->first, netdev->second, true);
    const Error refused = error_of(ask(hook::ctl::vf_enable, "enp2s0", 2));
    EXPECT_EQ(refused.code, Code::Busy);
    EXPECT_THAT(refused.message(), HasSubstr("VF 1 of enp2s0: it has no MAC"));
    EXPECT_THAT(refused.message(), HasSubstr("up on the host"));
    fake_.world.set_up(netdev->first, netdev->second, false);
    EXPECT_TRUE(ask(hook::ctl::vf_enable, "enp2s0", 2));
}

// Whatever call fails: VFs that were not there before are gone again, unless that fails too.
TEST_F(CtlVf, NothingIsLeftOfAnEnableThatFails) {
    for (int k = 0;; ++k) {
        fake_.world = two_adapters(0);
        const World before = fake_.world;
        fake_.gate.fail_call(k, EIO);
        netns::Host host = fake_.host();
        options_.pf = "enp1s0";
        options_.count = 3;
        const bool done = hook::ctl::vf_enable(options_, host).has_value();
        const bool reached = fake_.gate.mutating_calls() > k;
        fake_.gate.restart();
        if (!reached)
            break;
        if (!done) {
            EXPECT_EQ(fake_.world, before) << "call " << k << ":\n"
                                           << difference(before, fake_.world);
        }
    }
}

}  // namespace
}  // namespace test
