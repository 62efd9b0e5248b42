// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor on hosts as their distributions make them: the line that it prints first, with the
// fix below it, is what keeps containers from RDMA there. docs/support-matrix.md has the sources of
// what each kernel has.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/rdmactl/command.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kHealthy[] = "ok       config       no policy, 0 pools";
constexpr char kSelinux[] =
    "fail     selinux      SELinux keeps containers from opening devices\n"
    "                      -> setsebool -P container_use_devices on";

constexpr char kInTree[] = "kernel/drivers/infiniband/core";
constexpr char kByDkms[] = "updates/dkms";
constexpr char kByUbuntu[] = "kernel/doca-ofed-26.01";  // linux-main-modules-doca-ofed-26.01-*

class DoctorStock : public Containers {
  protected:
    DoctorStock() {
        ::umask(022);
        options_.host_root = dir_ / "host";
        options_.engine_files = {.root = options_.host_root, .owner = ::geteuid()};
        options_.rdma_class = dir_ / "class";
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        put("/etc/systemd/system/timers.target.wants/rdma-hook-gc.timer", "");
    }

    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = options_.host_root + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    // The kernel, and of depmod's list what concerns RDMA. `software` has rdma_rxe and siw, if the
    // kernel does; `core` is the folder of ib_core, `drivers` that of the others.
    void boot(const std::string& release,
              const std::vector<std::string>& software,
              const std::string& core = kInTree,
              const std::string& drivers = "kernel/drivers") {
        put("/proc/sys/kernel/osrelease", release + "\n");
        const std::string ib_core = core + "/ib_core.ko.zst";
        std::string list = ib_core + ":\n" + core + "/ib_uverbs.ko.zst: " + ib_core + "\n" + core +
                           "/rdma_ucm.ko.zst: " + ib_core +
                           "\nkernel/drivers/net/macvlan.ko.zst:\n";
        for (const std::string& name : software)
            list += drivers + "/infiniband/sw/" + name + ".ko.zst: " + ib_core + "\n";
        put("/lib/modules/" + release + "/modules.dep", list);
    }

    // As RHEL and Fedora are installed.
    void enforce_selinux(const std::string& devices = "0 0\n") {
        put("/sys/fs/selinux/enforce", "1");
        put("/sys/fs/selinux/booleans/container_use_devices", devices);
    }

    // The first line that `rdmactl doctor MODE` prints, with its fix.
    std::string first(const std::string& mode) {
        options_.mode = mode;
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::doctor(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        const std::string text = answer ? answer->text : "";
        size_t end = text.find('\n');
        if (text.substr(end + 1).starts_with(' '))
            end = text.find('\n', end + 1);
        return text.substr(0, end);
    }

    TempDir dir_;
    hook::ctl::Options options_;
};

TEST_F(DoctorStock, Ubuntu2404) {
    boot("6.8.0-88-generic", {"rdma_rxe", "siw"});
    const std::string line =
        "kernel       Linux 6.8.0-88-generic: before 7.1 rxe carries nothing in a container's "
        "network namespace\n"
        "                      -> boot a kernel >= 7.1, or annotate rdma.placement=host, or use "
        "rdma.mode=softiwarp";
    EXPECT_EQ(first("softroce"), "fail     " + line);
    EXPECT_EQ(first("softiwarp"), kHealthy);
    EXPECT_EQ(first(""), "warning  " + line) << "nobody asks for it";
}

// Some images for clouds have linux-modules and not the package of the rarer modules.
TEST_F(DoctorStock, Ubuntu2404WithoutItsExtraModules) {
    boot("6.8.0-88-generic", {});
    EXPECT_EQ(
        first("softroce"),
        "fail     rdma_rxe     kernel 6.8.0-88-generic has no module rdma_rxe: there is no "
        "SoftRoCE. If depmod does not find it, install linux-modules-6.8.0-88-generic (before "
        "Ubuntu 25.10 linux-modules-extra-6.8.0-88-generic)\n"
        "                      -> depmod -a && modprobe rdma_rxe");
    EXPECT_THAT(first("softiwarp"),
                StartsWith("fail     siw          kernel 6.8.0-88-generic has no module siw"));
}

TEST_F(DoctorStock, UbuntuOfClouds) {
    for (const std::string release : {"6.8.0-1021-aws",
                                      "6.8.0-1021-azure",
                                      "7.0.0-1004-azure-fde",
                                      "6.8.0-1021-gcp",
                                      "6.8.0-1021-nvidia",
                                      "6.8.0-88-lowlatency",
                                      "6.8.0-1021-oracle"}) {
        boot(release, {});
        EXPECT_THAT(first("softroce"),
                    HasSubstr("install linux-modules-" + release +
                              " (before Ubuntu 25.10 linux-modules-extra-" + release + ")\n"));
    }
}

TEST_F(DoctorStock, Ubuntu2604) {
    boot("7.0.0-22-generic", {"rdma_rxe", "siw"});
    EXPECT_THAT(first("softroce"),
                StartsWith("fail     kernel       Linux 7.0.0-22-generic: before 7.1 "));
    EXPECT_EQ(first("softiwarp"), kHealthy);
    EXPECT_THAT(first(""), StartsWith("warning  kernel       Linux 7.0.0-22-generic: before 7.1 "));
}

// The kernel's version is no reason there, and rdma.placement=host no way out.
TEST_F(DoctorStock, Ubuntu2604WithDocaOfed) {
    for (const auto& [core, loaded] :
         {std::pair{kByDkms, false}, {kByUbuntu, false}, {kByUbuntu, true}}) {
        SCOPED_TRACE(core);
        boot("7.0.0-22-generic", {"rdma_rxe", "siw"}, core);
        if (loaded)
            put("/sys/module/ib_core/taint", "OE\n");
        const std::string line =
            "rdma_rxe     ib_core is not the kernel's own (MLNX_OFED, DOCA), and the kernel's "
            "rdma_rxe does not load beside it: there is no SoftRoCE\n"
            "                      -> use the adapter (rdma.mode=shared, vf or host), or remove "
            "MLNX_OFED or DOCA and reboot";
        EXPECT_EQ(first("softroce"), "fail     " + line);
        EXPECT_THAT(first("softiwarp"),
                    StartsWith("fail     siw          ib_core is not the kernel's own (MLNX_OFED, "
                               "DOCA), and the kernel's siw does not load beside it: there is no "
                               "Soft-iWARP\n"));
        EXPECT_EQ(first(""), "warning  " + line) << "its adapter is what it is for";
    }
    put("/sys/module/ib_core/taint", "\n");
    EXPECT_THAT(first("softroce"), StartsWith("fail     kernel "))
        << "the kernel's own runs all the same";
}

TEST_F(DoctorStock, Rhel9) {
    boot("5.14.0-570.12.1.el9_6.x86_64", {"rdma_rxe", "siw"});
    enforce_selinux();
    EXPECT_THAT(
        first("softroce"),
        StartsWith("fail     kernel       Linux 5.14.0-570.12.1.el9_6.x86_64: before 7.1 "));
    EXPECT_EQ(first("softiwarp"), kSelinux) << "a Technology Preview there";
    EXPECT_EQ(first(""), kSelinux);
    enforce_selinux("1 1\n");
    EXPECT_EQ(first("softiwarp"), kHealthy);
    EXPECT_THAT(first(""),
                StartsWith("warning  kernel       Linux 5.14.0-570.12.1.el9_6.x86_64: "));
    boot("5.14.0-570.12.1.el9_6.x86_64", {});
    EXPECT_THAT(first("softroce"),
                HasSubstr("install kernel-modules-5.14.0-570.12.1.el9_6.x86_64 and kernel-modules-"
                          "extra-5.14.0-570.12.1.el9_6.x86_64\n"));
}

// The RPM packages have an rdma_rxe and a siw that load and do nothing. They need no ib_core.
TEST_F(DoctorStock, Rhel9WithMlnxOfed) {
    const std::string release = "5.14.0-570.12.1.el9_6.x86_64";
    const std::string ofed = "extra/mlnx-ofa_kernel/";
    boot(release, {}, ofed + "drivers/infiniband/core");
    std::ofstream list(options_.host_root + "/lib/modules/" + release + "/modules.dep",
                       std::ios::app);
    for (const char* name : {"rxe/rdma_rxe", "siw/siw"})
        list << ofed << "drivers/infiniband/sw/" << name << ".ko: " << ofed
             << "compat/mlx_compat.ko\n";
    list.close();
    const std::string line =
        "rdma_rxe     rdma_rxe is a dummy of MLNX_OFED or DOCA, which loads and does nothing: "
        "there is no SoftRoCE\n"
        "                      -> use the adapter (rdma.mode=shared, vf or host), or remove "
        "MLNX_OFED or DOCA and reboot";
    const std::string siw =
        "fail     siw          siw is a dummy of MLNX_OFED or DOCA, which loads and does nothing: "
        "there is no Soft-iWARP\n";
    EXPECT_EQ(first("softroce"), "fail     " + line);
    EXPECT_THAT(first("softiwarp"), StartsWith(siw));
    EXPECT_EQ(first(""), "warning  " + line) << "its adapter is what it is for";
    put("/sys/module/rdma_rxe/taint", "OE\n");
    put("/sys/module/siw/taint", "OE\n");
    EXPECT_EQ(first("softroce"), "fail     " + line) << "it is loaded";
    put("/sys/module/ib_core/taint", "OE\n");
    put("/sys/module/ib_core/holders/ib_uverbs", "");
    EXPECT_EQ(first("softroce"), "fail     " + line);
    EXPECT_THAT(first("softiwarp"), StartsWith(siw));
}

// It is the kernel's own from kernel-modules-extra, too.
TEST_F(DoctorStock, Rhel9WithRareModulesAndDocaOfed) {
    boot("5.14.0-570.12.1.el9_6.x86_64", {"rdma_rxe", "siw"}, kByDkms, "extra/drivers");
    EXPECT_THAT(first("softroce"),
                StartsWith("fail     rdma_rxe     ib_core is not the kernel's own (MLNX_OFED, "
                           "DOCA), and the kernel's rdma_rxe does not load beside it"));
    boot("5.14.0-570.12.1.el9_6.x86_64", {"siw"}, "extra/drivers", "extra/drivers");
    EXPECT_EQ(first("softiwarp"), kHealthy);
}

TEST_F(DoctorStock, Rhel10HasNoSoftwareDevices) {
    boot("6.12.0-124.8.1.el10_1.x86_64", {});
    enforce_selinux();
    const std::string line =
        "rdma_rxe     kernel 6.12.0-124.8.1.el10_1.x86_64 has no module rdma_rxe: there is no "
        "SoftRoCE. Its distribution builds it without\n"
        "                      -> use an adapter (rdma.mode=shared, vf or host), or boot a kernel "
        "that has rdma_rxe";
    EXPECT_EQ(first("softroce"), "fail     " + line);
    EXPECT_THAT(first("softiwarp"),
                StartsWith("fail     siw          kernel 6.12.0-124.8.1.el10_1.x86_64 has no "
                           "module siw"));
    EXPECT_THAT(first("softiwarp"), HasSubstr(" -> use an adapter (rdma.mode=shared, vf or host)"));
    EXPECT_EQ(first(""), kSelinux);
    enforce_selinux("1 1\n");
    EXPECT_EQ(first(""), "warning  " + line) << "nobody asks for them";
}

TEST_F(DoctorStock, Fedora43) {
    boot("6.17.7-300.fc43.x86_64", {"rdma_rxe", "siw"});
    enforce_selinux();
    EXPECT_THAT(first("softroce"),
                StartsWith("fail     kernel       Linux 6.17.7-300.fc43.x86_64: before 7.1 "));
    EXPECT_EQ(first("softiwarp"), kSelinux);
    EXPECT_EQ(first(""), kSelinux);
    boot("7.1.4-200.fc43.x86_64", {"rdma_rxe", "siw"});
    EXPECT_EQ(first("softroce"), kSelinux) << "an update has brought the kernel";
    put("/sys/fs/selinux/enforce", "0");
    EXPECT_EQ(first("softroce"), kHealthy) << "it is permissive";
}

TEST_F(DoctorStock, Suse) {
    boot("6.19.4-1-default", {"rdma_rxe", "siw"});
    EXPECT_THAT(first("softroce"),
                StartsWith("fail     kernel       Linux 6.19.4-1-default: before 7.1 "));
    EXPECT_EQ(first("softiwarp"), kHealthy);
    EXPECT_THAT(first(""), StartsWith("warning  kernel       Linux 6.19.4-1-default: before 7.1 "));
    boot("6.19.4-1-default", {});
    EXPECT_THAT(first("softroce"), HasSubstr("install kernel-default, not kernel-default-base\n"));
}

TEST_F(DoctorStock, Debian) {
    boot("6.12.48+deb13-amd64", {"rdma_rxe"});
    EXPECT_THAT(first("softroce"),
                StartsWith("fail     kernel       Linux 6.12.48+deb13-amd64: before 7.1 "));
    EXPECT_THAT(first("softroce"), EndsWith("rdma.placement=host")) << "it has no siw to advise";
    EXPECT_THAT(first("softiwarp"),
                HasSubstr("Its distribution builds it without\n                      -> use an "
                          "adapter (rdma.mode=shared, vf or host)"));
    boot("7.2.3+deb13-amd64", {"rdma_rxe"});
    EXPECT_EQ(first("softroce"), kHealthy);
    EXPECT_THAT(first("softiwarp"), EndsWith("or use rdma.mode=softroce"));
    boot("6.12.48+deb13-cloud-amd64", {});
    EXPECT_THAT(first("softroce"),
                HasSubstr("install linux-image-amd64, which is not the cloud's"));
    boot("6.12.48+deb13-cloud-arm64", {});
    EXPECT_THAT(first("softroce"),
                HasSubstr("install linux-image-arm64, which is not the cloud's"));
}

// Debian 13 was the first whose kernels have its name.
TEST_F(DoctorStock, Debian12) {
    boot("6.1.0-41-amd64", {"rdma_rxe"});
    EXPECT_THAT(first("softroce"),
                StartsWith("fail     kernel       Linux 6.1.0-41-amd64: before 7.1 "));
    EXPECT_THAT(first("softiwarp"), HasSubstr("Its distribution builds it without\n"));
    boot("6.1.0-41-amd64", {});
    EXPECT_THAT(first("softroce"), HasSubstr("install linux-image-6.1.0-41-amd64\n"));
}

}  // namespace
}  // namespace test
