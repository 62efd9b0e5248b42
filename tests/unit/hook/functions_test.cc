// SPDX-License-Identifier: Apache-2.0
// Mode vf with functions that have no PF on this machine, which a pool names: VFs in a virtual
// machine, whole adapters.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::HasSubstr;

class Functions : public Containers {
  protected:
    Functions() : Containers(world_with(Nic::VfWithoutPf, KernelTraits::v7_3())) {
        state_.add_pool("passed", "vf");
        state_.config().pools.back().functions = {{"0000:02:00.0", "", ""}};
    }

    Life of_pool(const std::string& id) {
        return container(
            id, {{"rdma.mode", "vf"}, {"rdma.pool", "passed"}, {"rdma.ip", "10.9.0.1/24"}});
    }
};

TEST_F(Functions, OneIsGivenOnceAndComesBack) {
    const World before = fake_.world;
    Life one = of_pool("one");
    Life two = of_pool("two");
    two.annotations["rdma.ip"] = "10.9.0.2/24";
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1");
    const auto error = refusal(two);
    EXPECT_EQ(error.code, Code::Busy);
    EXPECT_THAT(error.message(), HasSubstr("no free function of pool passed: 1 attached"));
    ASSERT_TRUE(one.poststop());
    EXPECT_TRUE(two.start());
    ASSERT_TRUE(two.poststop());
    expect_nothing_kept();
    EXPECT_EQ(fake_.world.pci, before.pci);
}

TEST_F(Functions, OnlyAPoolNamesThem) {
    Life one = container("one", {{"rdma.mode", "vf"}, {"rdma.device", "0000:02:00.0"}});
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("enp2s0 has no SR-IOV"));
    EXPECT_THAT(error.message(), HasSubstr("\"functions\""));
}

TEST_F(Functions, OfModeAsap2HavePorts) {
    const Error config = error_of(hook::parse_config(
        R"({"pools":{"a":{"mode":"asap2","bridge":"br0","functions":["0000:00:05.0"]}}})"));
    EXPECT_THAT(config.message(), HasSubstr("'pools.a.functions' must be an object"));
}

TEST_F(Functions, WhatThePfWouldSetIsRefused) {
    for (const char* key : {"vlan", "max_tx_rate", "spoofchk", "trust", "link_state"}) {
        Life one = of_pool(key);
        one.annotations[std::string("rdma.") + key] =
            key == std::string("vlan") || key == std::string("max_tx_rate") ? "7" : "on";
        state_.config().pools.back().rules.trust = true;
        const auto error = refusal(one);
        EXPECT_EQ(error.code, Code::Refused) << key;
        EXPECT_THAT(error.message(),
                    HasSubstr(std::string("rdma.") + key +
                              " is set through a PF, and 0000:02:00.0 has none on this machine"));
    }
}

TEST_F(Functions, ItsNetdevTakesTheMacAndTheMtu) {
    const World before = fake_.world;
    Life one = of_pool("one");
    one.annotations["rdma.mac"] = "02:00:5e:10:00:01";
    one.annotations["rdma.mtu"] = "4000";
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    ASSERT_TRUE(one.poststop());
    expect_nothing_kept();
    EXPECT_EQ(fake_.world.netdev_of("0000:02:00.0"), before.netdev_of("0000:02:00.0"));
    const auto netdev = fake_.world.netdev_of("0000:02:00.0");
    const auto mac = [&](World world) {
        return world.find_link(netdev->first, netdev->second)->link.mac;
    };
    EXPECT_EQ(mac(fake_.world), mac(before));
}

TEST_F(Functions, OneThatTheHostUsesIsNotGiven) {
    fake_.world.set_up(fake_.world.host, fake_.world.netdev_of("0000:02:00.0")->second, true);
    Life one = of_pool("one");
    EXPECT_THAT(refusal(one).message(), HasSubstr("1 up on the host"));
    fake_.world.set_up(fake_.world.host, fake_.world.netdev_of("0000:02:00.0")->second, false);
    const auto netdev = fake_.world.netdev_of("0000:02:00.0");
    fake_.world.find_link(netdev->first, netdev->second)->link.xdp = true;
    const auto error = refusal(one);
    EXPECT_THAT(error.message(), HasSubstr("1 with an XDP program on the host"));
    EXPECT_THAT(error.message(), HasSubstr("run: ip link set enp2s0 xdp off"));
}

TEST_F(Functions, TheDoctorMissesNoSrIov) {
    hook::ctl::Options options;
    options.mode = "vf";
    options.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    const auto failed = [&] {
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::doctor(options, host);
        return answer && std::ranges::any_of(answer->json["checks"], [](const base::Json& check) {
                   return check["status"] == "fail" &&
                          check["why"] == "no PCI function of this host has SR-IOV";
               });
    };
    EXPECT_FALSE(failed());
    state_.config().pools.back().functions.clear();
    EXPECT_TRUE(failed());
}

}  // namespace
}  // namespace test
