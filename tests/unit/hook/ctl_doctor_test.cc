// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor: broken hosts, each named with what mends it.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "hook/ctl/command.h"
#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {
using testing::HasSubstr;

class CtlDoctor : public Containers {
  protected:
    CtlDoctor() {
        options_.host_root = dir_ / "host";
        options_.rdma_class = dir_ / "class";
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        put("/proc/sys/kernel/osrelease", "7.3.4\n");
        for (const char* name : {"ib_uverbs", "rdma_ucm", "rdma_rxe", "macvlan"})
            put(std::string("/sys/module/") + name + "/refcnt", "0\n");
    }

    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = options_.host_root + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    hook::ctl::Answer examine(const std::string& mode = "") {
        options_.mode = mode;
        netns::Host host = fake_.host();
        auto answer = hook::ctl::doctor(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? *answer : hook::ctl::Answer{};
    }

    // What is wrong: "ID: why -> fix", of the checks that failed.
    std::vector<std::string> failures(const std::string& mode = "") {
        const auto answer = examine(mode);
        std::vector<std::string> all;
        for (const auto& check : answer.json["checks"]) {
            if (check["status"] == "fail")
                all.push_back(check["id"].get<std::string>() + ": " +
                              check["why"].get<std::string>() + " -> " +
                              check["fix"].get<std::string>());
        }
        EXPECT_EQ(answer.trouble, !all.empty());
        return all;
    }

    // What the administrator does about it.
    void run(base::Result<hook::ctl::Answer> (*verb)(const hook::ctl::Options&, netns::Host&)) {
        netns::Host host = fake_.host();
        const auto answer = verb(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        fake_.settle();
    }

    std::string status(const std::string& id) {
        const auto answer = examine();
        for (const auto& check : answer.json["checks"]) {
            if (check["id"] == id)
                return check["status"];
        }
        return "none";
    }

    TempDir dir_;
    hook::ctl::Options options_;
};

TEST_F(CtlDoctor, AWholeHostHasNoFailure) {
    const World before = fake_.world;
    EXPECT_EQ(failures(), std::vector<std::string>{});
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_FALSE(std::filesystem::exists(state_.path())) << "nothing is made";
    EXPECT_EQ(status("siw"), "skipped") << "nobody asks for softiwarp";
}

TEST_F(CtlDoctor, AModuleThatIsMissing) {
    std::filesystem::remove_all(options_.host_root + "/sys/module/rdma_rxe");
    put("/lib/modules/7.3.4/modules.dep",
        "kernel/drivers/x.ko.xz: kernel/drivers/rdma_rxe.ko.xz\n"
        "kernel/drivers/siw/siw.ko:\n");
    const auto found = failures();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_THAT(found[0], HasSubstr("rdma_rxe: kernel 7.3.4 has no module rdma_rxe"));
    EXPECT_THAT(found[0], HasSubstr("depmod -a && modprobe rdma_rxe"));
    EXPECT_EQ(status("siw"), "ok");
    put("/lib/modules/7.3.4/modules.dep", "kernel/drivers/rdma_rxe.ko.xz: kernel/x.ko.xz\n");
    EXPECT_EQ(failures(), std::vector<std::string>{});
}

TEST_F(CtlDoctor, AnOldKernelIsAWarning) {
    EXPECT_EQ(status("kernel"), "ok");
    put("/proc/sys/kernel/osrelease", "6.12.38+deb13-amd64\n");
    EXPECT_EQ(status("kernel"), "warning");
    put("/proc/sys/kernel/osrelease", "odd\n");
    EXPECT_EQ(status("kernel"), "warning");
}

TEST_F(CtlDoctor, ModeExclusiveWithPoolsOfModeShared) {
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    EXPECT_EQ(status("netns_mode"), "ok");
    EXPECT_EQ(failures("shared").size(), 2U) << "there is no HCA either";
    state_.add_pool("hca", "shared");
    const auto found = failures();
    ASSERT_FALSE(found.empty());
    EXPECT_THAT(found[0], HasSubstr("(pools hca). While there are other network namespaces"));
    EXPECT_THAT(
        found[0],
        HasSubstr(" -> echo options ib_core netns_mode=1 >/etc/modprobe.d/rdma-hook.conf && "
                  "rdma system set netns shared"));
}

// As after a boot that loads no module: each container is refused.
TEST_F(CtlDoctor, AKernelWithoutRdma) {
    fake_.world.kernel.rdma = false;
    for (const auto& [mode, module] : {std::pair{"", "rdma_rxe"},
                                       {"softroce", "rdma_rxe"},
                                       {"softiwarp", "siw"},
                                       {"shared", "ib_uverbs"},
                                       {"vf", "rdma_rxe"}}) {
        std::vector<std::string> found;
        for (const std::string& failure : failures(mode)) {
            if (failure.starts_with("netns_mode: "))
                found.push_back(failure);
        }
        ASSERT_EQ(found.size(), 1U) << mode;
        EXPECT_THAT(found[0], HasSubstr("netns_mode: the kernel has no RDMA"));
        EXPECT_THAT(found[0], testing::EndsWith(std::string(" -> modprobe ") + module));
    }
}

TEST_F(CtlDoctor, APolicyThatLocksLittleMemory) {
    state_.config().policy = hook::Policy{};
    EXPECT_EQ(status("memlock"), "warning") << "the engine's limit may be enough";
    state_.config().policy->memlock_max = 65536;
    const auto found = failures();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_THAT(found[0], HasSubstr("memlock: the policy lets containers lock 64 KiB"));
    EXPECT_THAT(found[0], HasSubstr("set policy.memlock"));
}

TEST_F(CtlDoctor, AnInterfaceOfAPool) {
    state_.add_pool("fast", "softroce");
    state_.config().pools[0].parents = {"nowhere0", "container"};
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0], HasSubstr("parent: a pool names nowhere0"));
    const std::string name = fake_.world.find_link(fake_.world.host, World::kHostLink)->link.name;
    state_.config().pools[0].parents = {name};
    EXPECT_EQ(failures(), std::vector<std::string>{});
    fake_.world.find_link(fake_.world.host, World::kHostLink)->link.up = false;
    EXPECT_EQ(failures(),
              std::vector{"parent: " + name + " is down -> ip link set " + name + " up"});
}

TEST_F(CtlDoctor, AVfWithoutAMacComesFirst) {
    fake_.world.add_sriov("enp1s0", "0000:01:00.0", 2, Nic::Mlx5);
    const auto found = failures("vf");
    ASSERT_EQ(found.size(), 2U) << "each VF";
    EXPECT_THAT(found[0], HasSubstr("vf: VF 0 of enp1s0 has no MAC: "));
    EXPECT_THAT(found[0], HasSubstr(" -> rdmactl vf enable enp1s0 2"));
    options_.pf = "enp1s0";
    options_.count = 2;
    run(hook::ctl::vf_enable);
    EXPECT_EQ(failures("vf"), std::vector<std::string>{});
}

// VFs of a PCI function are what mode vf takes. An e-switch may be on another bus.
TEST_F(CtlDoctor, AnEswitchOfAnotherBusNeedsNoPf) {
    constexpr char kDevice[] = "netdevsim/netdevsim1";
    fake_.world = mapped_world();
    fake_.world.pci.at(kDevice).num_vfs = 2;
    ASSERT_FALSE(failures("asap2").empty()) << "nothing is enabled";
    EXPECT_THAT(failures("asap2")[0], HasSubstr("pf: no PCI function of this host has SR-IOV"));
    options_.pf = kDevice;
    options_.count = 2;
    options_.bridge = "br0";
    run(hook::ctl::asap2_enable);
    EXPECT_EQ(failures("asap2"), std::vector<std::string>{});
    ASSERT_EQ(failures("vf").size(), 1U);
    EXPECT_THAT(failures("vf")[0], HasSubstr("pf: no PCI function of this host has SR-IOV"));
}

// Debian's kernels have mlx5 without tc offload for representors.
TEST_F(CtlDoctor, WithoutOffloadTheProcessorsForward) {
    constexpr char kDevice[] = "netdevsim/netdevsim1";
    fake_.world = mapped_world();
    fake_.world.pci.at(kDevice).num_vfs = 2;
    options_.pf = kDevice;
    options_.count = 2;
    options_.bridge = "br0";
    run(hook::ctl::asap2_enable);
    World& world = fake_.world;
    for (const char* port : {"pf0vf0", "pf0vf1"})
        world.find_link(world.host, world.representor(kDevice, port))->tc_feature = {.on = false,
                                                                                     .fixed = true};
    EXPECT_EQ(failures("asap2"), std::vector<std::string>{});
    EXPECT_EQ(status("offload"), "warning");
    state_.add_pool("fast", "asap2");
    state_.config().pools[0].defaults["offload"] = "required";
    ASSERT_EQ(failures("asap2").size(), 1U) << "its containers would be refused";
    EXPECT_THAT(failures("asap2")[0], HasSubstr("netdevsim1: hw-tc-offload: off [fixed] on "));
    state_.config().pools.clear();
    world.set_eswitch_mode(kDevice, netns::EswitchMode::Legacy);
    ASSERT_FALSE(failures("asap2").empty()) << "it is enabled, and nobody forwards";
    EXPECT_THAT(failures("asap2")[0], HasSubstr("offload: netdevsim/netdevsim1: mode legacy -> "));
}

TEST_F(CtlDoctor, TheOtherPortOfAnAdapterNeedsNoEswitch) {
    fake_.world = World::standard(KernelTraits::v7_3());
    World& world = fake_.world;
    for (const std::string number : {"1", "2"}) {
        const std::string address = "0000:0" + number + ":00.0";
        world.add_sriov("enp" + number + "s0", address, 0, Nic::Mlx5);
        world.add_eswitch("pci/" + address, world.netdev_of(address)->second, 0);
    }
    world.ovs.installed = true;
    world.ovs.settings.version = "3.5.0";
    const auto legacy = [&] {
        const auto found = failures("asap2");
        return std::ranges::count_if(found, [](const auto& text) {
            return text.find(": mode legacy") != std::string::npos;
        });
    };
    EXPECT_EQ(legacy(), 2) << "one of them is to be enabled";
    options_.pf = "enp1s0";
    options_.count = 2;
    options_.bridge = "br0";
    run(hook::ctl::asap2_enable);
    EXPECT_EQ(failures("asap2"), std::vector<std::string>{});
}

TEST_F(CtlDoctor, ABrokenConfigurationComesFirst) {
    options_.load_config = []() -> base::Result<hook::Config> {
        return base::make_error(base::Code::BadConfig, "config.json: odd");
    };
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0], HasSubstr("config: config.json: odd -> "));
    EXPECT_EQ(examine().json["checks"][0]["id"], "config");
}

TEST_F(CtlDoctor, SaysWhichModesACheckIsFor) {
    const auto answer = examine("softroce");
    EXPECT_EQ(status("vf"), "ok");
    for (const auto& check : answer.json["checks"]) {
        EXPECT_THAT(check["modes"].dump(), HasSubstr("softroce")) << check["id"];
        EXPECT_NE(check["id"], "vf");
    }
}

TEST_F(CtlDoctor, AnUnknownModeIsAWrongUse) {
    options_.mode = "vfs";
    netns::Host host = fake_.host();
    EXPECT_EQ(hook::ctl::doctor(options_, host).error().code, base::Code::Usage);
}

}  // namespace
}  // namespace test
