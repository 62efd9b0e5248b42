// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor: broken hosts, each named with what mends it.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/rdmactl/command.h"
#include "tests/unit/hook/adapter_cases.h"
#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {
using testing::HasSubstr;

class CtlDoctor : public Containers {
  protected:
    CtlDoctor() {
        ::umask(022);
        options_.host_root = dir_ / "host";
        options_.engine_files = {.root = options_.host_root, .owner = ::geteuid()};
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

    // Returns "ID: why -> fix" for each check that failed.
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

    // Repairs the host as the administrator does.
    void run(base::Result<hook::ctl::Answer> (*verb)(const hook::ctl::Options&, netns::Host&)) {
        netns::Host host = fake_.host();
        const auto answer = verb(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        fake_.settle();
    }

    // Two VFs behind an e-switch that forwards for a bridge.
    void enable_asap2(const std::string& pf) {
        fake_.world = mapped_world();
        fake_.world.pci.at(pf).num_vfs = 2;
        options_.pf = pf;
        options_.count = 2;
        options_.bridge = "br0";
        run(hook::ctl::asap2_enable);
    }

    // The host of the case, whose VFs have MACs, as `rdmactl vf enable` leaves them.
    void plug(const Case& each) {
        fake_.world = world_of(each);
        add_class();
    }

    void add_class() {
        for (auto& [address, function] : fake_.world.pci) {
            if (!function.pf.empty() && function.settings.mac && function.settings.mac->is_zero())
                function.settings.mac = function.own_mac;
        }
        std::filesystem::remove_all(options_.rdma_class);
        for (const auto& [index, device] : fake_.world.rdma)
            std::filesystem::create_directories(std::filesystem::path(options_.rdma_class) /
                                                device.device.name);
    }

    // The node GUID of a function's RDMA device.
    uint64_t& node_guid(const std::string& function) {
        return std::ranges::find(
                   fake_.world.rdma, function, [](const auto& entry) { return entry.second.pci; })
            ->second.device.node_guid;
    }

    std::string status(const std::string& id, const std::string& mode = "") {
        const auto answer = examine(mode);
        for (const auto& check : answer.json["checks"]) {
            if (check["id"] == id)
                return check["status"];
        }
        return "none";
    }

    // The words of a check that is not ok.
    std::string said(const std::string& id, const std::string& mode = "") {
        const auto answer = examine(mode);
        for (const auto& check : answer.json["checks"]) {
            if (check["id"] == id)
                return check["why"].get<std::string>() + " -> " + check["fix"].get<std::string>();
        }
        return "none";
    }

    void add_process(pid_t pid, const std::string& program, const std::string& cgroup) {
        const std::string folder = "/proc/" + std::to_string(pid);
        put(folder + "/comm", program + "\n");
        put(folder + "/cgroup", "0::" + cgroup + "\n");
        put(folder + "/uid_map", "         0          0 4294967295\n");
        fake_.world.processes[pid].start = 1;
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

TEST_F(CtlDoctor, AnRxeOfTheKernelBesideForeignModules) {
    std::filesystem::remove_all(options_.host_root + "/sys/module/rdma_rxe");
    put("/lib/modules/7.3.4/modules.dep", "kernel/drivers/rdma_rxe.ko.xz: kernel/x.ko.xz\n");
    put("/sys/module/ib_core/taint", "\n");
    EXPECT_EQ(status("rdma_rxe", "softroce"), "ok");
    put("/sys/module/ib_core/taint", "OE\n");
    EXPECT_EQ(status("rdma_rxe"), "warning") << "nobody asks for it";
    EXPECT_EQ(status("rdma_rxe", "softroce"), "fail");
}

// As MLNX_OFED's RPM packages have it. One that was built by hand uses ib_core.
TEST_F(CtlDoctor, AnRxeThatDoesNothing) {
    const std::string rxe = "/sys/module/rdma_rxe";
    std::filesystem::remove_all(options_.host_root + rxe);
    const std::string core = "updates/ib_core.ko: updates/mlx_compat.ko\n";
    for (const auto& [needs, status_then] : {std::pair{"mlx_compat", "fail"}, {"ib_core", "ok"}}) {
        put("/lib/modules/7.3.4/modules.dep",
            core + "updates/rdma_rxe.ko: updates/" + needs + ".ko\n");
        EXPECT_EQ(status("rdma_rxe", "softroce"), status_then) << needs;
    }
    put("/lib/modules/7.3.4/modules.dep", "updates/rdma_rxe.ko: kernel/net/udp_tunnel.ko\n");
    EXPECT_EQ(status("rdma_rxe", "softroce"), "ok") << "ib_core is built in";
    put(rxe + "/taint", "OE\n");
    EXPECT_EQ(status("rdma_rxe", "softroce"), "fail") << "nothing can be used by it";
    put("/sys/module/ib_core/taint", "\n");
    EXPECT_EQ(status("rdma_rxe", "softroce"), "ok") << "ib_core is built in";
    put("/sys/module/ib_core/holders/ib_uverbs", "");
    EXPECT_EQ(status("rdma_rxe"), "warning") << "nobody asks for it";
    EXPECT_EQ(status("rdma_rxe", "softroce"), "fail");
    put("/sys/module/ib_core/holders/rdma_rxe", "");
    EXPECT_EQ(status("rdma_rxe", "softroce"), "ok");
    std::filesystem::remove(options_.host_root + "/sys/module/ib_core/holders/rdma_rxe");
    put(rxe + "/taint", "\n");
    EXPECT_EQ(status("rdma_rxe", "softroce"), "ok") << "the kernel's own";
}

TEST_F(CtlDoctor, AnOldKernelFailsWhoAsksForSoftroce) {
    EXPECT_EQ(status("kernel"), "ok");
    for (const char* release : {"6.12.38+deb13-amd64\n", "7.0\n", "odd\n"}) {
        put("/proc/sys/kernel/osrelease", release);
        EXPECT_EQ(status("kernel"), "warning") << "nobody asks for it";
        EXPECT_EQ(status("kernel", "softroce"), "fail");
    }
    state_.add_pool("host", "softroce");
    state_.config().pools[0].defaults["placement"] = "host";
    EXPECT_EQ(status("kernel", "softroce"), "warning") << "the host's rxe works";
    state_.add_pool("own", "softroce");
    EXPECT_EQ(status("kernel"), "fail");
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

// In RDMA netns mode exclusive these attach to nobody.
TEST_F(CtlDoctor, ModeExclusiveRefusesWhatCannotMove) {
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    put("/sys/module/siw/refcnt", "0\n");
    EXPECT_EQ(status("netns_mode", "softiwarp"), "fail");
    EXPECT_EQ(status("netns_mode", "vf"), "ok");
    EXPECT_EQ(status("netns_mode", "softroce"), "ok") << "Linux 7.3 moves rxe";
    put("/proc/sys/kernel/osrelease", "7.2.1\n");
    EXPECT_EQ(status("netns_mode"), "ok") << "nobody asks for it";
    EXPECT_EQ(status("netns_mode", "softroce"), "fail");
    state_.add_pool("soft", "softroce");
    EXPECT_THAT(said("netns_mode"),
                HasSubstr("before Linux 7.3 no rxe can be moved into a "
                          "container (pools soft)"));
    put("/proc/sys/kernel/osrelease", "7.3.0\n");
    EXPECT_EQ(status("netns_mode"), "ok");
    state_.config().pools[0].defaults["placement"] = "host";
    EXPECT_EQ(status("netns_mode"), "fail");
    state_.add_pool("iwarp", "softiwarp");
    EXPECT_THAT(said("netns_mode"), HasSubstr("(pools iwarp); no container can use the host's"));
}

// ib_core was loaded early, by an initramfs that has no such file yet.
TEST_F(CtlDoctor, AModeThatAFileAsksForAndTheKernelHasNot) {
    // All lines of the check: the mode itself, and what does not fit it.
    const auto lines = [this] {
        std::vector<std::string> all;
        const auto answer = examine();
        for (const auto& check : answer.json["checks"]) {
            if (check["id"] == "netns_mode") {
                all.push_back(check["status"].get<std::string>() + ": " +
                              check["why"].get<std::string>() + " -> " +
                              check["fix"].get<std::string>());
            }
        }
        return all;
    };
    const std::string file = "/etc/modprobe.d/rdma-hook.conf";
    put("/etc/modprobe.d/other.conf", "# options ib_core netns_mode=0\noptions rdma_rxe x=0\n");
    put("/etc/modprobe.d/off.conf.disabled", "options ib_core netns_mode=0\n");
    EXPECT_EQ(lines().size(), 1U);
    for (const char* text : {"options ib_core netns_mode=1\n",
                             "options ib_core netns_mode=Y",
                             "options ib_core netns_mode=0 netns_mode=on\n",
                             "options ib_core netns_modes=0\noptions ib_corex netns_mode=0\n",
                             "options\noptions ib_core\n\n"}) {
        put(file, text);
        EXPECT_EQ(lines().size(), 1U) << text;
    }
    for (const char* text :
         {"options ib_core netns_mode=0\n",
          "options ib_core netns_mode=1\n\toptions  ib_core\tx=1 netns_mode=N"}) {
        put(file, text);
        ASSERT_EQ(lines().size(), 2U) << text;
        EXPECT_THAT(lines()[0], testing::StartsWith("ok: "));
        EXPECT_THAT(lines()[1],
                    HasSubstr("warning: RDMA namespace mode is shared, and " + file +
                              " asks for exclusive"));
        EXPECT_THAT(lines()[1], HasSubstr("or boot with ib_core.netns_mode=0"));
    }
    EXPECT_EQ(failures(), std::vector<std::string>{}) << "containers are not refused for it";
    put("/proc/cmdline", "quiet ib_core.netns_mode=1\n");
    EXPECT_EQ(lines().size(), 1U) << "the command line is meant to win";
    put("/proc/cmdline", "quiet\n");
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    EXPECT_EQ(lines().size(), 1U) << "the kernel has what the file asks for";
    put(file, "options ib_core netns_mode=1\n");
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_THAT(lines()[1], HasSubstr("mode is exclusive, and " + file + " asks for shared"));
    // modprobe.d(5): the names decide the order, whatever the folders; of one name only the file of
    // the first folder counts.
    const auto asked_by = [&](const std::string& path) {
        ASSERT_EQ(lines().size(), 2U) << path;
        EXPECT_THAT(lines()[1], HasSubstr("exclusive, and " + path + " asks for shared"));
    };
    std::filesystem::remove_all(options_.host_root + "/etc/modprobe.d");
    for (const char* folder : {"/lib/modprobe.d",
                               "/usr/lib/modprobe.d",
                               "/usr/local/lib/modprobe.d",
                               "/run/modprobe.d"}) {
        put(std::string(folder) + "/m.conf", "options ib_core netns_mode=1\n");
        asked_by(std::string(folder) + "/m.conf");
    }
    put("/etc/modprobe.d/a.conf", "options ib_core netns_mode=0\n");
    asked_by("/run/modprobe.d/m.conf");
    put("/usr/lib/modprobe.d/z.conf", "options ib_core netns_mode=0\n");
    EXPECT_EQ(lines().size(), 1U) << "it is the last";
    put("/run/modprobe.d/z.conf", "# nothing\n");
    asked_by("/run/modprobe.d/m.conf");
    put("/etc/modprobe.d/m.conf", "");
    EXPECT_EQ(lines().size(), 1U) << "only a.conf asks";
}

TEST_F(CtlDoctor, TheHostsOwnDevices) {
    EXPECT_EQ(status("host"), "skipped") << "nobody asks for them";
    EXPECT_EQ(status("host", "host"), "fail");
    fake_.world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    EXPECT_EQ(status("host", "host"), "ok");
    EXPECT_THAT(said("host"), HasSubstr("mlx5_0 is the host's own"));
    state_.add_pool("adapters", "host");
    state_.config().pools[0].devices = {{.device = "mlx5_7", .vfs = {}}};
    ASSERT_EQ(failures("host").size(), 1U);
    EXPECT_THAT(failures("host")[0], HasSubstr("that is called 'mlx5_7'"));
    state_.config().pools[0].devices = {{.device = "all", .vfs = {}}};
    EXPECT_EQ(failures("host").size(), 0U);
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    EXPECT_THAT(said("host"), HasSubstr("for containers with --network host"));
    EXPECT_EQ(failures("host").size(), 0U);
}

TEST_F(CtlDoctor, PfsWithoutVfsFailWhoAsksForThem) {
    fake_.world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    EXPECT_EQ(status("pf"), "warning") << "nobody asks for them";
    ASSERT_EQ(failures("vf").size(), 1U);
    EXPECT_THAT(failures("vf")[0], HasSubstr("pf: PF enp1s0 has none of its "));
    EXPECT_THAT(failures("vf")[0], HasSubstr(" -> rdmactl vf enable enp1s0 "));
    fake_.world.add_sriov("enp2s0", "0000:02:00.0", 2, Nic::Mlx5);
    EXPECT_EQ(status("pf", "vf"), "warning") << "the other one has some";
    state_.add_pool("first", "vf");
    state_.config().pools[0].devices = {{.device = "enp1s0", .vfs = {}}};
    EXPECT_EQ(status("pf"), "fail") << "but this pool has no others";
    state_.config().pools[0].devices.push_back({.device = "0000:02:00.0", .vfs = {}});
    EXPECT_EQ(status("pf"), "warning");
}

// A container that asks by annotation then starts without RDMA, and nothing reports it.
TEST_F(CtlDoctor, AnEngineThatDoesNotCallUs) {
    put("/usr/bin/podman", "");
    put("/usr/bin/dockerd", "");
    ASSERT_EQ(failures().size(), 2U);
    EXPECT_THAT(failures()[0], HasSubstr("podman: Podman does not call rdma-hook"));
    EXPECT_THAT(failures()[1], HasSubstr("docker: Docker does not know the runtime rdma"));
    put("/etc/docker/daemon.json", R"({"runtimes":{"rdma":{"path":"/usr/bin/rdma-runtime"}}})");
    EXPECT_EQ(failures(), std::vector<std::string>{});
    EXPECT_EQ(status("podman"), "warning") << "it may be meant so";
    std::filesystem::remove(options_.host_root + "/usr/bin/dockerd");
    EXPECT_EQ(status("podman"), "fail");
    put("/etc/containers/containers.conf.d/50-rdma-hook.conf", "[engine]\nhooks_dir = []\n");
    EXPECT_EQ(status("podman"), "ok");
    // The package brings Podman's file wherever it is installed.
    std::filesystem::remove(options_.host_root + "/usr/bin/podman");
    std::filesystem::remove(options_.host_root + "/etc/docker/daemon.json");
    put("/usr/bin/dockerd", "");
    EXPECT_EQ(status("docker"), "fail");
}

TEST_F(CtlDoctor, ARuntimeWhoseProgramIsMissing) {
    EXPECT_EQ(status("low_level"), "skipped");
    const std::string program = "/etc/rdma-hook/rdma-runtime.d/rdma-nvidia";
    put("/etc/docker/daemon.json", R"({"runtimes":{"rdma-nvidia":{"path":")" + program + R"("}}})");
    EXPECT_THAT(said("low_level"), HasSubstr(program + " is missing -> run: rdmactl runtime"));
    put(program, "#!/usr/bin/rdma-runtime --low-level=/usr/bin/nvidia-container-runtime\n");
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0], HasSubstr("low_level: docker: rdma-nvidia: open the program"));
    EXPECT_THAT(failures()[0], HasSubstr(" -> install it, or run: rdmactl runtime configure "));
    const std::string low_level = "/usr/bin/nvidia-container-runtime";
    put(low_level, "");
    ASSERT_EQ(::chmod((options_.host_root + low_level).c_str(), 0755), 0);
    EXPECT_EQ(failures(), std::vector<std::string>{});
    EXPECT_EQ(said("low_level"), "docker: rdma-nvidia calls " + low_level + " -> ");
    put("/usr/bin/dockerd", "");
    EXPECT_EQ(said("docker"), "Docker knows the runtime rdma-nvidia -> ");
}

TEST_F(CtlDoctor, PodsWithoutAPolicy) {
    EXPECT_EQ(status("kubernetes"), "skipped");
    put("/usr/bin/containerd", "");
    put("/etc/containerd/config.toml", "BinaryName = \"/usr/bin/rdma-runtime\"\n");
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0],
                HasSubstr(" -> rdmactl runtime configure --runtime=containerd --starter-policy"));
    state_.config().policy = hook::Policy{};
    EXPECT_EQ(status("kubernetes"), "ok");
}

TEST_F(CtlDoctor, WhatCouldNotBeLookedAtIsAWarning) {
    std::filesystem::remove(options_.host_root + "/proc/sys/kernel/osrelease");
    EXPECT_EQ(status("kernel"), "warning");
    EXPECT_THAT(said("kernel"), HasSubstr("nobody could look: "));
}

TEST_F(CtlDoctor, AnEngineWithMountsOfItsOwn) {
    add_process(4242, "dockerd", "/system.slice/docker.service");
    EXPECT_EQ(status("mounts"), "ok");
    fake_.world.processes[4242].mounts = 7;
    EXPECT_EQ(status("mounts"), "warning");
    EXPECT_THAT(said("mounts"), HasSubstr("docker.service runs in a mount namespace of its own"));
    put("/lib/systemd/system/docker.service", "[Service]\nPrivateTmp=yes\nProtectHome=no\n");
    EXPECT_THAT(said("mounts"), HasSubstr("its own (PrivateTmp=yes)"));
    put("/proc/4242/uid_map", "0 1000 1\n");
    fake_.world.processes[4242].mounts = 7;
    EXPECT_THAT(said("mounts"), HasSubstr("would start in"))
        << "a rootless engine runs no hook as root";
    put("/etc/systemd/system/docker.service.d/10-mounts.conf", "[Service]\nPrivateTmp=false\n");
    EXPECT_EQ(status("mounts"), "ok");
    add_process(4300, "bash", "/system.slice/x.service");
    fake_.world.processes[4300].mounts = 8;
    EXPECT_EQ(status("mounts"), "ok") << "no engine";
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

// Of MLNX_OFED and DOCA, by a function that Linux has not.
TEST_F(CtlDoctor, AnIbCoreThatKeepsGidsApart) {
    EXPECT_EQ(status("gids"), "skipped") << "it is not loaded";
    put("/proc/kallsyms",
        "0000000000000000 T rdma_read_gid_attr_ndev_rcu\t[ib_core]\n"
        "0000000000000000 T rdma_check_gid_user_access\t[ib_core]\n");
    put("/sys/module/ib_core/taint", "\n");
    EXPECT_THAT(said("gids"), HasSubstr("a container can use a neighbour's"))
        << "the kernel's own: nobody looks for the symbol";
    put("/sys/module/ib_core/taint", "OE\n");
    EXPECT_THAT(said("gids"), HasSubstr("no container uses a neighbour's"));
    put("/proc/kallsyms", "0000000000000000 T rdma_check_gid_user_access_not\t[ib_core]\n");
    EXPECT_THAT(said("gids"), HasSubstr("a container can use a neighbour's"));
    std::filesystem::remove(options_.host_root + "/proc/kallsyms");
    EXPECT_EQ(status("gids"), "warning") << "nobody could look";
    EXPECT_EQ(failures(), std::vector<std::string>{});
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

// Whatever a container asks for; a macvlan on a Broadcom need not be one.
TEST_F(CtlDoctor, FailsForAModeWhereItsContainersAreRefused) {
    for (const Case& each : cases()) {
        SCOPED_TRACE(name_of(each));
        const bool attaches = std::ranges::any_of(cases(), [&](const Case& other) {
            return other.nic == each.nic && other.mode == each.mode &&
                   other.rdma_mode == each.rdma_mode && other.says.empty();
        });
        state_.config().pools.clear();
        add_pool(each, state_);
        plug(each);
        EXPECT_EQ(failures(each.mode).empty(), attaches)
            << testing::PrintToString(failures(each.mode));
    }
}

TEST_F(CtlDoctor, AVfWithoutRdmaUnderAPfThatHasIt) {
    plug({Nic::Ice, "vf", Mode::Shared});
    EXPECT_EQ(failures(), std::vector<std::string>{}) << "nobody asks for it";
    EXPECT_EQ(status("vf"), "warning");
    EXPECT_THAT(said("vf"),
                HasSubstr("VF 0 of enp1s0 (driver iavf) has no RDMA device of its own, and its PF "
                          "has one (irdma_0) -> load the RDMA module"));
    state_.add_pool("fast", "vf");
    hook::Pool& pool = state_.config().pools[0];
    pool.devices = {{.device = "enp1s0", .vfs = {}}};
    EXPECT_EQ(failures().size(), 2U) << "each VF";
    pool.devices = {{.device = "enp1s0", .vfs = {{1, 1}}}};
    EXPECT_EQ(failures().size(), 2U) << "there is no other";
    pool.defaults["provider"] = "rxe";
    EXPECT_EQ(failures("vf"), std::vector<std::string>{}) << "VF 1 is given so";
    EXPECT_EQ(status("vf", "vf"), "warning") << "VF 0 to nobody";
    pool.devices = {};
    EXPECT_EQ(status("vf", "vf"), "ok");
}

TEST_F(CtlDoctor, AnotherAdapterIsEnoughUnlessAPoolNamesThisOne) {
    fake_.world = world_of({Nic::Iwarp, "shared", Mode::Shared});
    fake_.world.add_sriov("enp2s0", "0000:02:00.0", 2, Nic::Mlx5);
    add_class();
    EXPECT_EQ(failures("shared"), std::vector<std::string>{});
    state_.add_pool("hca", "shared");
    state_.config().pools[0].parents = {"enp2s0"};
    EXPECT_EQ(failures(), std::vector<std::string>{});
    state_.config().pools[0].parents.emplace_back("enp1s0");
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0], HasSubstr("hca: irdma_0 is an iWARP device"));
}

TEST_F(CtlDoctor, AMacvlanOnABroadcomIsAWarning) {
    plug({Nic::Bnxt, "shared", Mode::Shared});
    EXPECT_EQ(status("hca", "shared"), "warning");
    EXPECT_THAT(said("hca", "shared"),
                HasSubstr("a macvlan does not work there -> set rdma.child=ipvlan"));
}

TEST_F(CtlDoctor, AnIwarpVfIsForModeVfAlone) {
    plug({Nic::Iwarp, "vf", Mode::Shared});
    EXPECT_EQ(failures(), std::vector<std::string>{});
    EXPECT_THAT(said("vf"), HasSubstr("is an iWARP device, and mode asap2 gives RoCE"));
    EXPECT_EQ(status("vf", "vf"), "ok");
    EXPECT_EQ(status("vf", "asap2"), "fail");
}

// The host of a DPU does not report its VFs' MACs.
TEST_F(CtlDoctor, AVfWithoutANodeGuid) {
    plug({Nic::BluefieldHost, "vf", Mode::Shared});
    EXPECT_EQ(status("vf", "vf"), "ok");
    node_guid(fake_.world.vf_address("0000:01:00.0", 1)) = 0;
    EXPECT_EQ(status("vf", "vf"), "warning") << "the other one has one";
    EXPECT_THAT(said("vf", "vf"),
                testing::AllOf(HasSubstr("VF 1 of enp1s0 (mlx5_2) has no node GUID"),
                               HasSubstr("set it on the DPU")));
    node_guid(fake_.world.vf_address("0000:01:00.0", 0)) = 0;
    EXPECT_EQ(failures("vf").size(), 2U);
    EXPECT_EQ(failures(), std::vector<std::string>{}) << "nobody asks for it";
}

TEST_F(CtlDoctor, AVfThatAContainerHasWasGiven) {
    for (const Mode mode : {Mode::Shared, Mode::Exclusive}) {
        plug({Nic::Mlx5, "vf", mode});
        Life one = container("one", {{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}});
        ASSERT_TRUE(one.start());
        node_guid(fake_.world.vf_address("0000:01:00.0", 1)) = 0;
        EXPECT_EQ(failures("vf"), std::vector<std::string>{});
        EXPECT_EQ(failures("shared").empty(), mode == Mode::Shared);
        ASSERT_TRUE(one.poststop());
    }
}

TEST_F(CtlDoctor, FunctionsOfAPool) {
    const Case each{Nic::VfWithoutPf, "vf", Mode::Shared};
    plug(each);
    add_pool(each, state_);
    EXPECT_EQ(failures(), std::vector<std::string>{});
    node_guid("0000:02:00.0") = 0;
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0], HasSubstr("vf: 0000:02:00.0 (mlx5_1) has no node GUID"));
    fake_.world.unbind("0000:02:00.0");
    EXPECT_EQ(failures(),
              std::vector<std::string>{"vf: 0000:02:00.0 of pool passed is without a driver -> "
                                       "bind the driver that makes its netdev"});
    fake_.world.pci.erase("0000:02:00.0");
    ASSERT_EQ(failures().size(), 1U);
    EXPECT_THAT(failures()[0],
                HasSubstr("vf: pool passed names 0000:02:00.0, which the host has not -> correct "
                          "pools.passed.functions"));
    plug(each);
    fake_.world.set_up(fake_.world.host, fake_.world.netdev_of("0000:02:00.0")->second, true);
    ASSERT_EQ(failures().size(), 1U) << "the pool has no other";
    EXPECT_THAT(failures()[0], HasSubstr("is up on the host -> run: ip link set enp2s0 down"));
    state_.config().pools[0].functions.push_back({"0000:01:00.0", "", ""});
    fake_.world.set_up(fake_.world.host, fake_.world.netdev_of("0000:01:00.0")->second, false);
    EXPECT_EQ(failures(), std::vector<std::string>{});
    EXPECT_EQ(status("vf"), "warning");
}

TEST_F(CtlDoctor, APfWithoutANetdev) {
    plug({Nic::IbMlx5, "vf", Mode::Shared});
    fake_.world.pci.at(kPf).quirks.insert("no_ipoib");
    fake_.world.unbind(kPf);
    fake_.world.bind(kPf);
    EXPECT_THAT(said("pf", "vf"),
                HasSubstr("has no netdev in the host's namespace -> run: "
                          "modprobe ib_ipoib"));
    plug({Nic::Mlx5, "vf", Mode::Shared});
    fake_.world.destroy_link(fake_.world.host, fake_.world.netdev_of(kPf)->second);
    EXPECT_THAT(said("pf", "vf"), HasSubstr("Socket Direct"));
    fake_.world.unbind(kPf);
    EXPECT_THAT(said("pf", "vf"), HasSubstr(" -> bind its driver"));
    EXPECT_EQ(status("pf", "vf"), "fail");
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
    enable_asap2(kDevice);
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

// Since Linux 6.3 mlx5's uplink is a port of another devlink device.
TEST_F(CtlDoctor, AnEswitchWhoseUplinkIsNotFound) {
    constexpr char kDevice[] = "netdevsim/netdevsim1";
    enable_asap2(kDevice);
    ASSERT_EQ(failures("asap2"), std::vector<std::string>{});
    World& world = fake_.world;
    world.destroy_link(world.host, world.eswitches.at(kDevice).ports[0].netdev);
    ASSERT_EQ(failures("asap2").size(), 1U);
    EXPECT_THAT(failures("asap2")[0], HasSubstr("its uplink has no netdev on the host"));
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
