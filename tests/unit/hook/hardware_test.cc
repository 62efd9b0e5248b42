// SPDX-License-Identifier: Apache-2.0
// The quirks of the drivers of real adapters (tests/fakes/adapters.cc), beyond that a container
// attaches and comes back.
#include <gmock/gmock.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/fakes/fake_rdma.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using Mode = netns::RdmaNetnsMode;

class Hardware : public Containers {
  protected:
    void plug(Nic nic, Mode mode = Mode::Shared) {
        fake_.world = world_with(nic, KernelTraits::v7_3());
        fake_.world.mode = mode;
    }

    FakePci& pf() { return fake_.world.pci.at(kPf); }

    FakePci& vf() { return fake_.world.pci.at(fake_.world.vf_address(kPf, 0)); }

    FakeRdma& rdma_of(const std::string& function) {
        return std::ranges::find(
                   fake_.world.rdma, function, [](const auto& entry) { return entry.second.pci; })
            ->second;
    }

    Life with_vf(const std::string& id, std::map<std::string, std::string> more = {}) {
        more.merge(
            std::map<std::string, std::string>{{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}});
        return container(id, std::move(more));
    }

    Life sharing(const std::string& id, const std::string& ip) {
        return container(id, {{"rdma.mode", "shared"}, {"rdma.parent", "enp1s0"}, {"rdma.ip", ip}});
    }

    // attach.json of attachment 0.
    static base::Json told(const Life& life) {
        for (const auto& mount : life.spec()["mounts"]) {
            if (mount["destination"] == "/run/rdma/attach.json")
                return json_of(*base::RealFiles{}.read(mount["source"].get<std::string>(),
                                                       65536))["attachments"][0];
        }
        return {};
    }

    // As after a boot that does not load ib_ipoib.
    void bind_without_ipoib(const std::string& function) {
        pf().quirks.insert("no_ipoib");
        fake_.world.unbind(function);
        fake_.world.bind(function);
    }

    base::Result<hook::ctl::Answer> enable_vfs(uint32_t count) {
        hook::ctl::Options options;
        options.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        options.pf = "enp1s0";
        options.count = count;
        netns::Host host = fake_.host();
        return hook::ctl::vf_enable(options, host);
    }
};

// The kernel shows the host none of the containers' GIDs, and a full table would be found out by
// waiting for one that does not come.
TEST_F(Hardware, GidsThatAreHiddenAreCounted) {
    plug(Nic::Ofed);
    rdma_of(kPf).gid_slots = 8;
    Life one = sharing("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    Life two = sharing("two", "10.9.0.2/24,10.9.0.3/24");
    ASSERT_TRUE(two.start());
    Life three = sharing("three", "10.9.0.4/24,10.9.0.5/24");
    const base::Error full = refusal(three);
    EXPECT_EQ(full.code, Code::Busy);
    EXPECT_THAT(full.text, HasSubstr("mlx5_0 has 2 of 8 GIDs free, and this container needs 3"));
}

TEST_F(Hardware, WhatTheDpuSetsIsRefusedOnTheHost) {
    plug(Nic::BluefieldHost);
    const std::map<std::string, std::string> keys = {{"rdma.mac", "02:00:5e:10:00:01"},
                                                     {"rdma.vlan", "7"},
                                                     {"rdma.max_tx_rate", "1000"},
                                                     {"rdma.link_state", "on"}};
    for (const auto& [key, value] : keys) {
        Life life = with_vf("with-" + key.substr(5), {{key, value}});
        const base::Error error = refusal(life);
        EXPECT_EQ(error.code, Code::Unsupported);
        EXPECT_THAT(error.message(), AllOf(HasSubstr(key), HasSubstr("BlueField in DPU mode")));
    }
}

// The second function of a Socket Direct adapter.
TEST_F(Hardware, VfsOfAPfWithoutANetdevAreRefused) {
    plug(Nic::Mlx5New);
    fake_.world.destroy_link(fake_.world.host, fake_.world.netdev_of(kPf)->second);
    Life one = container("one", {{"rdma.mode", "vf"}, {"rdma.device", kPf}});
    const base::Error error = refusal(one);
    EXPECT_EQ(error.code, Code::Unavailable);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("has no netdev"), HasSubstr("Socket Direct")));
}

TEST_F(Hardware, InfinibandIsGivenWithItsIpoibNetdevs) {
    plug(Nic::IbMlx5);
    const std::string first = fake_.world.vf_address(kPf, 0);
    bind_without_ipoib(first);
    Life one = container("one", {{"rdma.mode", "vf"}, {"rdma.device", first}});
    base::Error error = refusal(one);
    EXPECT_EQ(error.code, Code::Busy);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("without an IPoIB netdev"), HasSubstr("modprobe ib_ipoib")));
    bind_without_ipoib(kPf);
    Life two = container("two", {{"rdma.mode", "vf"}, {"rdma.device", kPf}});
    error = refusal(two);
    EXPECT_EQ(error.code, Code::Unavailable);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("has no netdev"),
                      HasSubstr("modprobe ib_ipoib"),
                      testing::Not(HasSubstr("Socket Direct"))));
}

TEST_F(Hardware, VfsOfADpusHostAreMadeWithoutMacs) {
    plug(Nic::BluefieldHost);
    fake_.world.set_num_vfs(kPf, 0);
    const auto made = enable_vfs(4);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(pf().num_vfs, 4U);
}

// A PF that resets a VF whose settings it changes.
TEST_F(Hardware, AVfInAResetIsWaitedFor) {
    plug(Nic::Ice);
    Life one = with_vf("one",
                       {{"rdma.provider", "rxe"},
                        {"rdma.vlan", "7"},
                        {"rdma.mac", "02:00:5e:10:00:01"},
                        {"rdma.ip", "10.9.0.1/24"}});
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(vf().settings.vlan->id, 7);
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(vf().settings.vlan->id, 0);
    EXPECT_TRUE(vf().settings.mac->is_zero());
    expect_nothing_kept();
}

TEST_F(Hardware, AContainerStartsWhenItsPortIsActive) {
    for (const Mode mode : {Mode::Shared, Mode::Exclusive}) {
        plug(Nic::Mlx5New, mode);
        Life one = with_vf("one", {{"rdma.ip", "10.9.0.1/24"}});
        ASSERT_TRUE(one.start());
        EXPECT_EQ(told(one)["port_state"], "ACTIVE");
        EXPECT_FALSE(rdma_of(fake_.world.vf_address(kPf, 0)).comes_up.value);
        EXPECT_THAT(one.notes(), testing::IsEmpty());
        ASSERT_TRUE(one.poststop());
    }
}

TEST_F(Hardware, APortWithoutCarrierIsAWarning) {
    plug(Nic::Mlx5New);
    pf().quirks.insert("no_carrier");
    Life one = with_vf("one", {{"rdma.ip", "10.9.0.1/24"}});
    ASSERT_TRUE(one.start());
    EXPECT_EQ(told(one)["port_state"], "DOWN");
    EXPECT_THAT(one.notes(), Contains(HasSubstr("port of mlx5_1 is DOWN")));
    EXPECT_EQ(fake_.rdma.port_waits, 1);
    Life two = with_vf("two", {{"rdma.link_state", "off"}});
    ASSERT_TRUE(two.start());
    EXPECT_EQ(told(two)["port_state"], "DOWN");
    EXPECT_EQ(fake_.rdma.port_waits, 1) << "a port that is switched off is not waited for";
    Life three = sharing("three", "10.9.0.3/24");
    ASSERT_TRUE(three.start());
    EXPECT_EQ(told(three)["port_state"], "DOWN");
    EXPECT_EQ(fake_.rdma.port_waits, 1) << "nor the host's";
}

TEST_F(Hardware, SoftwareDevicesAreNotAskedForTheirPort) {
    for (const char* mode : {"softroce", "softiwarp"}) {
        Life one = container(mode, {{"rdma.mode", mode}, {"rdma.ip", "10.9.0.1/24"}});
        ASSERT_TRUE(one.start());
        EXPECT_EQ(told(one).count("port_state"), 0U);
        EXPECT_EQ(fake_.rdma.port_looks, 0);
        ASSERT_TRUE(one.poststop());
    }
}

// iWARP connects by rdma_cm alone, without a GSI QP and without GIDs of addresses.
TEST_F(Hardware, AnIwarpVfIsGivenWithItsConnectionManager) {
    for (const Mode mode : {Mode::Shared, Mode::Exclusive}) {
        plug(Nic::Iwarp, mode);
        Life one = with_vf("one", {{"rdma.ip", "10.9.0.1/24"}});
        const auto started = one.start();
        ASSERT_TRUE(started) << started.error().message();
        EXPECT_EQ(one.environment("RDMA_GID"), "");
        EXPECT_EQ(told(one)["rdma_cm"], true);
        EXPECT_EQ(told(one)["provider"], "device");
        ASSERT_TRUE(one.poststop());
    }
}

TEST_F(Hardware, SoftRoceTakesNoHardwaresPlaceUnasked) {
    plug(Nic::Ice);
    Life unasked = with_vf("unasked");
    const base::Error error = refusal(unasked);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("rdma.provider=rxe"));
    Life asked = with_vf("asked", {{"rdma.provider", "rxe"}});
    ASSERT_TRUE(asked.start());
    EXPECT_EQ(told(asked)["provider"], "rxe");
    ASSERT_TRUE(asked.poststop());
    plug(Nic::Igb);
    Life none = with_vf("none");
    ASSERT_TRUE(none.start()) << "nothing of this adapter does RDMA";
    EXPECT_EQ(told(none)["provider"], "rxe");
}

TEST_F(Hardware, ANodeGuidOfZeroIsGivenToNobody) {
    plug(Nic::Mlx5New);
    fake_.world.set_num_vfs(kPf, 0);
    fake_.world.set_num_vfs(kPf, 2);  // as by sysfs: without MACs
    ASSERT_EQ(rdma_of(fake_.world.vf_address(kPf, 0)).device.node_guid, 0U);
    Life one = with_vf("one");
    const base::Error error = refusal(one);
    EXPECT_EQ(error.code, Code::Unavailable);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("has no node GUID"), HasSubstr("rdmactl vf enable enp1s0 2")));
    Life two = with_vf("two", {{"rdma.mac", "02:00:5e:10:00:01"}});
    ASSERT_TRUE(two.start()) << "its GUID is made of that";
    EXPECT_EQ(told(two)["node_guid"], "00005efffe100001");
    ASSERT_TRUE(two.poststop());
    ASSERT_TRUE(enable_vfs(2));
    fake_.gate.restart();
    Life three = with_vf("three");
    ASSERT_TRUE(three.start());
    EXPECT_NE(told(three)["node_guid"], "0000000000000000");
}

// Nobody on the host can set its MAC.
TEST_F(Hardware, ANodeGuidOfZeroIsTheDpusToSet) {
    plug(Nic::BluefieldHost);
    pf().quirks.insert("node_guid_of_admin_mac");
    fake_.world.set_num_vfs(kPf, 0);
    fake_.world.set_num_vfs(kPf, 2);
    Life one = with_vf("one");
    const base::Error error = refusal(one);
    EXPECT_EQ(error.code, Code::Unavailable);
    EXPECT_THAT(error.message(), HasSubstr("of a BlueField in DPU mode set it on the DPU"));
    vf().settings.mac = netns::parse_mac("02:00:5e:10:00:01");
    vf().mac_given.value = true;
    fake_.world.unbind(fake_.world.vf_address(kPf, 0));
    fake_.world.bind(fake_.world.vf_address(kPf, 0));
    Life two = with_vf("two");
    ASSERT_TRUE(two.start());
    EXPECT_EQ(told(two)["node_guid"], "00005efffe100001");
}

// The table heard neither of the MAC nor of the addresses, and would never look again.
TEST_F(Hardware, AGidTableThatKeepsTheOldMacsIsMadeToLook) {
    for (const Mode mode : {Mode::Shared, Mode::Exclusive}) {
        plug(Nic::Mlx5, mode);
        pf().quirks.insert("stale_gid");
        const std::map<std::string, netns::Gid> gids = {
            {"none", netns::link_local_gid(*netns::parse_mac("02:00:5e:10:00:01"))},
            {"10.9.0.1/24", netns::gid_of(*netns::parse_cidr("10.9.0.1/24"))}};
        for (const auto& [ip, gid] : gids) {
            Life one = with_vf("one", {{"rdma.mac", "02:00:5e:10:00:01"}, {"rdma.ip", ip}});
            const auto started = one.start();
            ASSERT_TRUE(started) << started.error().message();
            EXPECT_EQ(one.environment("RDMA_GID"), netns::to_string(gid));
            ASSERT_TRUE(one.poststop());
            expect_nothing_kept();
        }
    }
}

// The kernel gives it the first name that is free.
TEST_F(Hardware, ADeviceThatTheKernelDoesNotListYetGetsItsNameBack) {
    for (const Mode mode : {Mode::Shared, Mode::Exclusive}) {
        plug(Nic::Mlx5, mode);
        pf().quirks.insert("unlisted_rdma");
        const std::string address = fake_.world.vf_address(kPf, 0);
        rdma_of(address).device.name = "mlx5_rack7";
        Life one = with_vf("one", {{"rdma.mac", "02:00:5e:10:00:01"}, {"rdma.ip", "10.9.0.1/24"}});
        const auto started = one.start();
        ASSERT_TRUE(started) << started.error().message();
        EXPECT_EQ(told(one)["device"], "mlx5_rack7");
        ASSERT_TRUE(one.poststop());
        EXPECT_EQ(rdma_of(address).device.name, "mlx5_rack7");
        expect_nothing_kept();
    }
}

TEST_F(Hardware, AnInfinibandPfNeedsNotBeUp) {
    plug(Nic::IbMlx5);
    fake_.world.find_link(fake_.world.host, fake_.world.netdev_of(kPf)->second)->link.up = false;
    Life one = with_vf("one");
    ASSERT_TRUE(one.start());
}

// Its policy is down until somebody sets it: nobody could use the port.
TEST_F(Hardware, TheInfinibandPortFollowsThePfs) {
    plug(Nic::IbMlx5);
    Life one = with_vf("one");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(vf().settings.link_state, netns::VfLinkState::Auto);
    EXPECT_EQ(told(one)["port_state"], "ACTIVE");
    EXPECT_EQ(told(one)["mac"], "00:00:00:00:00:00") << "IPoIB's have 20 bytes";
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(vf().settings.link_state, netns::VfLinkState::Off);
    Life two = with_vf("two", {{"rdma.link_state", "off"}});
    ASSERT_TRUE(two.start());
    EXPECT_EQ(told(two)["port_state"], "DOWN");
}

TEST_F(Hardware, AGuidThatNobodySetIsNotWrittenBack) {
    plug(Nic::IbMlx5);
    Life one = with_vf("one",
                       {{"rdma.node_guid", "00:11:22:33:44:55:66:77"},
                        {"rdma.port_guid", "00:11:22:33:44:55:66:78"}});
    ASSERT_TRUE(one.start());
    const auto stopped = one.poststop();
    ASSERT_TRUE(stopped) << stopped.error().message();
    expect_nothing_kept();
    EXPECT_EQ(vf().settings.node_guid, 0x0011223344556677U);
    // Another's is.
    Life two = with_vf("two", {{"rdma.node_guid", "00:11:22:33:44:55:66:99"}});
    ASSERT_TRUE(two.start());
    ASSERT_TRUE(two.poststop());
    EXPECT_EQ(vf().settings.node_guid, 0x0011223344556677U);
}

}  // namespace
}  // namespace test
