// SPDX-License-Identifier: Apache-2.0
// Each check over a scene with one thing wrong.
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "perf/system/reading.h"
#include "tests/unit/perf/doctor/fixture.h"

namespace perf {
namespace {

using test::gid_row;
using testing::HasSubstr;

Address address(const std::string& text) {
    return parse_address(text).value();
}

class Checks : public testing::Test {
  protected:
    Checks() : scene_(test::healthy_scene(root_)) { test::choose(scene_); }

    [[nodiscard]] Findings look(std::string_view id) const {
        for (const auto checks : {kDeviceChecks, kAdapterChecks, kLimitChecks}) {
            for (const Check& check : checks) {
                if (check.id == id)
                    return check.look(scene_);
            }
        }
        ADD_FAILURE() << "no check " << id;
        return {};
    }

    // What the check says in its last line.
    [[nodiscard]] Finding last(std::string_view id) const {
        const Findings findings = look(id);
        EXPECT_FALSE(findings.empty());
        return findings.empty() ? Finding{} : findings.back();
    }

    void expect(std::string_view id, Status status, const std::string& why) const {
        const Finding finding = last(id);
        EXPECT_EQ(name_of(finding.status), name_of(status)) << finding.why;
        EXPECT_THAT(finding.why, HasSubstr(why));
        const bool bad = status == Status::Warning || status == Status::Fail;
        EXPECT_EQ(bad, !finding.fix.empty()) << "what is bad has a fix: " << finding.fix;
    }

    // A healthy second device, whose GID the route names.
    void add_second_device() {
        DeviceFacts second = scene_.devices.front();
        second.name = "rxe1";
        second.ports[0].active = true;
        scene_.devices.push_back(second);
        GidRow row = gid_row(1, "10.8.0.1", GidType::RoceV2, "rdma1");
        row.device = "rxe1";
        scene_.found.tables.rows.push_back(row);
        scene_.found.tables.addresses.push_back({"rdma1", row.gid});
        scene_.found.query.sources = {row.gid};
        scene_.interfaces.push_back({.name = "rdma1", .up = true, .carrier = true, .mtu = 1500});
        test::choose(scene_);
    }

    test::Root root_;
    Scene scene_;
};

TEST_F(Checks, AHealthyContainerHasNothingWrong) {
    scene_.peer = PeerFacts{.host = "10.9.0.2",
                            .port = 18600,
                            .sources = {address("10.9.0.1")},
                            .route_error = {},
                            .connect_error = {}};
    const auto diagnoses = examine(scene_);
    EXPECT_FALSE(any_failed(diagnoses)) << to_text(diagnoses);
    EXPECT_THAT(to_text(diagnoses), HasSubstr("0 failed, 0 warnings"));
}

TEST_F(Checks, NoRdmaAtAll) {
    const test::Root empty;
    scene_ = Scene{};
    scene_.root = empty.path() + "/nothing";
    scene_.attach_file = scene_.root + "/attach.json";
    expect("kernel", Status::Fail, "is not there");
    expect("nodes", Status::Fail, "no uverbs node");
    expect("abi", Status::Fail, "cannot be read");
    expect("libibverbs", Status::Fail, "finds no device");
    expect("access", Status::Skipped, "");
    expect("port", Status::Skipped, "");
    expect("gid", Status::Fail, "no GID is usable");
    expect("memlock", Status::Warning, "");
    expect("clock", Status::Skipped, "");
    EXPECT_TRUE(any_failed(examine(scene_)));
}

TEST_F(Checks, ModuleWithoutDevice) {
    root_.remove("sys/class/infiniband/rxe0");
    expect("kernel", Status::Fail, "is empty");
}

TEST_F(Checks, NodesThatAreMissingOrCannotBeOpened) {
    root_.remove("dev/infiniband/uverbs0");
    expect("nodes", Status::Fail, "no uverbs node");
    std::filesystem::create_directories(root_.path() + "/dev/infiniband/uverbs1");
    expect("nodes", Status::Fail, "uverbs1");
    root_.put("dev/infiniband/uverbs2", "");
    expect("nodes", Status::Warning, "uverbs1");
    root_.remove("dev/infiniband/rdma_cm");
    expect("rdma_cm", Status::Warning, "rdma_connect");
}

TEST_F(Checks, UnknownAbiIsAWarning) {
    root_.put("sys/class/infiniband_verbs/abi_version", "7\n");
    expect("abi", Status::Warning, "'7'");
}

TEST_F(Checks, LibraryWithoutProvider) {
    scene_.devices.clear();
    expect("libibverbs", Status::Fail, "no provider");
    scene_.verbs_error = base::sys_error(ENOSYS, "list RDMA devices");
    expect("libibverbs", Status::Fail, "list RDMA devices");
}

TEST_F(Checks, DevicesOfOtherNamespaces) {
    scene_.devices.push_back(
        {.name = "mlx5_0", .error = base::sys_error(EPERM, "open mlx5_0"), .ports = {}});
    expect("access", Status::Warning, "another network namespace");
    scene_.devices.erase(scene_.devices.begin());
    expect("access", Status::Fail, "another network namespace");
}

TEST_F(Checks, PortThatIsDown) {
    scene_.devices[0].ports[0].active = false;
    scene_.devices[0].ports[0].state = "PORT_DOWN";
    expect("port", Status::Fail, "PORT_DOWN");
    expect("mtu", Status::Skipped, "");
    add_second_device();
    const Findings findings = look("port");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].status, Status::Warning) << "nobody would use it";
    EXPECT_EQ(findings[1].status, Status::Ok);
}

TEST_F(Checks, NetdevElsewhereDownOrWithoutCarrier) {
    scene_.interfaces[1].carrier = false;
    expect("netdev", Status::Fail, "no carrier");
    scene_.interfaces[1].up = false;
    expect("netdev", Status::Fail, "rdma0 is down");
    scene_.interfaces.pop_back();
    expect("netdev", Status::Fail, "in this network namespace");
}

TEST_F(Checks, MtuOfPortAndNetdev) {
    expect("mtu", Status::Ok, "path MTU 4096 needs a netdev MTU of 4200");
    scene_.interfaces[1].mtu = 4200;
    expect("mtu", Status::Warning, "4096 would fit");
    scene_.devices[0].ports[0].active_mtu = 4096;
    expect("mtu", Status::Ok, "path MTU 4096, rdma0 has MTU 4200");
    scene_.interfaces[1].mtu = 1500;
    expect("mtu", Status::Fail, "do not fit");
    EXPECT_THAT(last("mtu").fix, HasSubstr("--mtu 1024"));
}

TEST_F(Checks, GidTables) {
    auto& rows = scene_.found.tables.rows;
    rows.push_back(gid_row(2, "10.9.0.7"));
    expect("gid_table", Status::Ok, "1 foreign: the device is shared");
    rows.erase(rows.begin());
    test::choose(scene_);
    expect("gid_table", Status::Fail, "no address on the device");
    expect("gid", Status::Fail, "no GID is usable");
    rows.clear();
    test::choose(scene_);
    expect("gid_table", Status::Fail, "empty");
    rows = {gid_row(0, "10.9.0.1", GidType::RoceV1, "rdma0")};
    test::choose(scene_);
    expect("gid_table", Status::Fail, "1 RoCE v1");
}

TEST_F(Checks, IwarpHasNoGidOfAnAddress) {
    scene_.devices[0].iwarp = true;
    scene_.found.tables.rows = {gid_row(0, "200:5eff:fe10:1::", GidType::InfiniBand, "rdma0")};
    test::choose(scene_);
    expect("gid_table", Status::Skipped, "is iWARP");
    scene_.found.tables.rows.clear();
    test::choose(scene_);
    expect("gid", Status::Skipped, "iWARP needs none");
}

TEST_F(Checks, AnAddressOfAnotherNetworkIsAWarning) {
    scene_.found.query.sources = {address("192.0.2.9")};
    test::choose(scene_);
    expect("gid", Status::Warning, "starts at 192.0.2.9: another network");
}

TEST_F(Checks, OnlyLinkLocalIsAWarning) {
    scene_.found.tables.rows = {gid_row(0, "fe80::1", GidType::RoceV2, "rdma0")};
    scene_.found.tables.addresses.push_back({"rdma0", address("fe80::1")});
    test::choose(scene_);
    expect("gid_table", Status::Warning, "1 link-local");
    expect("gid", Status::Warning, "last resort");
}

TEST_F(Checks, Memlock) {
    const auto limit = [&](const std::string& bytes) {
        root_.put("proc/self/limits", "Max locked memory " + bytes + " " + bytes + " bytes\n");
    };
    limit("8388608");
    expect("memlock", Status::Fail, "8 MiB; a run without options locks 9 MiB");
    limit("16777216");
    expect("memlock", Status::Warning, "little is left");
    limit("67108864");
    expect("memlock", Status::Ok, "64 MiB");
    limit("65536");
    root_.put("proc/self/status", "CapEff:\t000001ffffffffff\n");
    expect("memlock", Status::Ok, "CAP_IPC_LOCK");
    root_.put("proc/self/uid_map", "0 100000 65536\n");
    expect("memlock", Status::Fail, "64 KiB");
    limit("much");
    expect("memlock", Status::Warning, "");
}

TEST_F(Checks, RdmaCgroup) {
    expect("rdma_cgroup", Status::Skipped, "no rdma.max");
    root_.put("sys/fs/cgroup/rdma.max", "rxe0 hca_handle=2 hca_object=max\n");
    root_.put("sys/fs/cgroup/rdma.current", "rxe0 hca_handle=1 hca_object=40\n");
    expect("rdma_cgroup", Status::Ok, "room");
    root_.put("sys/fs/cgroup/rdma.max", "mlx5_0 hca_handle=0\nrxe0 hca_handle=1 hca_object=42\n");
    const Findings findings = look("rdma_cgroup");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_THAT(findings[0].why, HasSubstr("hca_handle=1, 1 in use"));
    EXPECT_THAT(findings[1].why, HasSubstr("hca_object=42, 40 in use"));
    root_.put("proc/self/cgroup", "0::/mine\n");
    root_.put("sys/fs/cgroup/mine/rdma.max", "rxe0 hca_handle=max hca_object=max\n");
    expect("rdma_cgroup", Status::Ok, "room");
    root_.put("proc/self/cgroup", "0::/../../mine\n");
    expect("rdma_cgroup", Status::Fail, "hca_object");
}

TEST_F(Checks, CpuQuotaAndCores) {
    root_.put("sys/fs/cgroup/cpu.max", "50000 100000\n");
    expect("cpu_quota", Status::Warning, "0.50 cores");
    root_.put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    expect("cpu_quota", Status::Ok, "never throttled");
    root_.put("sys/fs/cgroup/cpu.stat", "usage_usec 1\nnr_throttled 17\n");
    expect("cpu_quota", Status::Warning, "throttled 17 times");
    root_.put("sys/fs/cgroup/cpu.max", "1 0\n");
    expect("cpu_quota", Status::Skipped, "");
    expect("cores", Status::Ok, "5 cores: --poll auto spins on adapters");
    root_.put("proc/self/status", "Cpus_allowed_list:\t3\n");
    expect("cores", Status::Warning, "1 core:");
    root_.put("proc/self/status", "Cpus_allowed_list:\t3-1\n");
    expect("cores", Status::Skipped, "");
}

TEST_F(Checks, SlowClock) {
    root_.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    expect("clock", Status::Warning, "hpet");
}

TEST_F(Checks, AttachFile) {
    const std::string file = "run/rdma/attach.json";
    const auto attached = [&](const std::string& device, const std::string& gid) {
        root_.put(file,
                  R"({"format":1,"attached":true,"attachments":[{"device":")" + device +
                      R"(","gid":")" + gid + R"("}]})");
    };
    expect("attachment", Status::Skipped, "no attach.json");
    attached("rxe0", "::ffff:10.9.0.1");
    expect("attachment", Status::Ok, "agrees: rxe0 with GID 10.9.0.1");
    attached("rxe7", "::ffff:10.9.0.1");
    expect("attachment", Status::Warning, "renamed");
    attached("rxe0", "::ffff:10.9.0.9");
    expect("attachment", Status::Fail, "stale");
    root_.put(file, R"({"format":1,"attached":false,"error":"no\u001b[31m parent"})");
    expect("attachment", Status::Fail, "no\\x1b[31m parent");
    root_.put(file, "{");
    expect("attachment", Status::Fail, "cannot be used");
}

TEST_F(Checks, RouteAndPeer) {
    expect("route", Status::Skipped, "no --peer");
    scene_.peer = PeerFacts{.host = "h",
                            .port = 1,
                            .sources = {address("192.0.2.1")},
                            .route_error = {},
                            .connect_error = base::sys_error(ECONNREFUSED, "connect to h")};
    scene_.peer->connect_error->fix = "serve there";
    expect("route", Status::Warning, "no GID of a device here");
    expect("peer", Status::Fail, "connect to h");
    scene_.peer->sources = {address("127.0.0.1")};
    expect("route", Status::Ok, "in this network namespace");
    scene_.peer->route_error = base::make_error(base::Code::Unavailable, "no route leads to h");
    expect("route", Status::Fail, "no route leads to h");
    expect("peer", Status::Skipped, "");
}

class AdapterChecks : public Checks {
  protected:
    AdapterChecks() {
        scene_.devices.front().name = "mlx5_0";
        scene_.devices.front().identity = {.part = "15b3:101d",
                                           .board = "MT_0000000359",
                                           .firmware = "22.41.1000",
                                           .numa_node = "1"};
        scene_.devices.front().software = false;
        put("device/current_link_speed", "16.0 GT/s PCIe");
        put("device/current_link_width", "16");
        put("device/max_link_speed", "16.0 GT/s PCIe");
        put("device/max_link_width", "16");
        put("device/local_cpulist", "8-15");
    }

    void put(const std::string& file, const std::string& text) const {
        root_.put("sys/class/infiniband/mlx5_0/" + file, text + "\n");
    }

    void allow(const std::string& processors, const std::string& nodes) const {
        root_.put("proc/self/status",
                  "Cpus_allowed_list:\t" + processors + "\nMems_allowed_list:\t" + nodes + "\n");
    }
};

TEST_F(AdapterChecks, SoftwareDevicesHaveNothingOfThem) {
    scene_.devices.front().software = true;
    for (const std::string_view id : {"adapter", "pcie", "numa", "marks"})
        expect(id, Status::Skipped, "software devices");
}

TEST_F(AdapterChecks, TheAdapterIsNamed) {
    expect("adapter", Status::Ok, "mlx5_0: 15b3:101d, board MT_0000000359, firmware 22.41.1000");
}

TEST_F(AdapterChecks, ASlotThatRunsBelowItsBest) {
    expect("pcie", Status::Ok, "16.0 GT/s x16");
    put("device/current_link_width", "8");
    expect("pcie", Status::Warning, "PCIe 16.0 GT/s x8, of 16.0 GT/s x16");
    put("device/current_link_width", "16");
    put("device/current_link_speed", "8.0 GT/s PCIe");
    expect("pcie", Status::Warning, "PCIe 8.0 GT/s x16, of");
    put("device/current_link_speed", "Unknown");
    expect("pcie", Status::Skipped, "cannot be seen");
}

TEST_F(AdapterChecks, ProcessorsAndMemoryOfItsNode) {
    allow("0-8", "0-1");
    expect("numa", Status::Ok, "mlx5_0 is on NUMA node 1, with 1 of this container's processors");
    allow("0-7", "0-1");
    expect("numa", Status::Warning, "has no processor of it");
    EXPECT_EQ(last("numa").fix, "start it with --cpuset-cpus 8-15 --cpuset-mems 1");
    allow("0-15", "0");
    expect("numa", Status::Warning, "has no memory of it");
    for (const char* bad : {"", "8-", "x", "9-8", "0,,3"}) {
        put("device/local_cpulist", bad);
        expect("numa", Status::Skipped, "not known");
    }
}

TEST_F(AdapterChecks, TheDriversTrafficClass) {
    expect("marks", Status::Skipped, "mlnx_qos -i");
    put("tc/1/traffic_class", "Global tclass=106");
    expect("marks", Status::Ok, "Global tclass=106");
}

TEST_F(AdapterChecks, PfcOfTheNetdev) {
    expect("pfc", Status::Skipped, "its netdev is not here");
    GidRow row = gid_row(3, "10.9.0.9", GidType::RoceV2, "eth0");
    row.device = "mlx5_0";
    scene_.found.tables.rows.push_back(row);
    scene_.interfaces.push_back({.name = "eth0", .up = true, .carrier = true, .mtu = 9000});
    expect("pfc", Status::Ok, "mlx5_0 port 1: PFC of eth0 is off");
    scene_.interfaces.back().pfc = uint8_t{0x88};
    expect("pfc", Status::Ok, "PFC of eth0 is on for 3 7");
    scene_.interfaces.back().pfc = base::sys_error(EOPNOTSUPP, "ask for PFC of eth0");
    expect("pfc", Status::Skipped, "ask for PFC of eth0: Operation not supported: see the host's");
    scene_.devices.front().ports.front().ethernet = false;
    expect("pfc", Status::Skipped, "needs none");
}

TEST_F(AdapterChecks, AnInfiniBandPortThatDemandsAGrh) {
    expect("grh", Status::Skipped, "Ethernet");
    scene_.devices.front().ports.front().ethernet = false;
    expect("grh", Status::Ok, "needs no GRH");
    scene_.devices.front().ports.front().grh = true;
    expect("grh", Status::Ok, "demands a GRH");
}

TEST_F(AdapterChecks, TheWayToAGpusMemory) {
    expect("peer_memory", Status::Skipped, "no GPU");
    root_.put("dev/nvidiactl", "");
    expect("peer_memory", Status::Warning, "neither nvidia_peermem, nor dma-buf");
    EXPECT_THAT(last("peer_memory").fix, HasSubstr("on the host: modprobe nvidia_peermem"));
    root_.put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module 575\n");
    expect("peer_memory", Status::Ok, "nvidia: dma-buf");
    root_.put("proc/sys/kernel/osrelease", "5.11.22-generic\n");
    expect("peer_memory", Status::Warning, "dma-buf (Linux 5.12");
    root_.put("dev/kfd", "");
    expect("peer_memory", Status::Warning, "amdgpu: dma-buf needs Linux 5.12");
    root_.remove("dev/kfd");
    root_.put("proc/sys/kernel/osrelease", "5.12.0\n");
    root_.put("sys/module/nvidia_peermem/version", "575\n");
    expect("peer_memory", Status::Ok, "nvidia: /sys/module/nvidia_peermem is there");
    root_.put("dev/kfd", "");
    expect("peer_memory", Status::Ok, "amdgpu: dma-buf");
    root_.put("sys/kernel/mm/memory_peers/amdkfd/version", "1\n");
    expect("peer_memory", Status::Ok, "amdgpu: peer memory");
}

// Any file of the root may hold anything, or be anything.
TEST_F(Checks, HostileFilesAreHarmless) {
    const std::vector<std::string> files = {"sys/class/infiniband_verbs/abi_version",
                                            "proc/self/limits",
                                            "proc/self/status",
                                            "proc/self/uid_map",
                                            "proc/self/cgroup",
                                            "sys/fs/cgroup/cpu.max",
                                            "sys/fs/cgroup/cpu.stat",
                                            "sys/fs/cgroup/rdma.max",
                                            "sys/fs/cgroup/rdma.current",
                                            "run/rdma/attach.json"};
    const std::string binary("\x1b[2J\0\xff\xfe\n0::\x01", 12);
    for (const std::string& content : {std::string(1U << 21U, 'x'),
                                       std::string(60000, '\n'),
                                       std::string(60000, ' '),
                                       "99999999999999999999999 -1 0::/\n" + binary,
                                       binary}) {
        for (const std::string& file : files)
            root_.put(file, content);
        EXPECT_THAT(to_text(examine(scene_)), testing::Not(HasSubstr("\x1b")));
    }
    for (const std::string& file : files) {
        root_.remove(file);
        ASSERT_EQ(::mkfifo((root_.path() + "/" + file).c_str(), 0600), 0);
    }
    EXPECT_FALSE(examine(scene_).empty());
}

TEST_F(Checks, IdsAreUniqueAndInTheDocument) {
    std::set<std::string_view> ids;
    for (const auto checks : {kDeviceChecks, kAdapterChecks, kLimitChecks}) {
        for (const Check& check : checks)
            EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    }
    const auto json = to_json(examine(scene_), "");
    EXPECT_EQ(json["usable"], true);
    for (const auto& entry : json["checks"]) {
        EXPECT_TRUE(ids.contains(entry["id"].get<std::string>()));
        EXPECT_TRUE(entry["why"].is_string());
    }
}

TEST(Reading, Words) {
    EXPECT_THAT(words_of(" a  bc\t\nd "), testing::ElementsAre("a", "bc", "d"));
    EXPECT_TRUE(words_of(" \n").empty());
    EXPECT_EQ(number_of("12"), 12U);
    EXPECT_FALSE(number_of("12x"));
    EXPECT_FALSE(number_of(""));
    EXPECT_EQ(value_after("a: 1\nb:\t2 \n", "b:"), "2");
    EXPECT_FALSE(value_after("a: 1\n", "b:"));
}

}  // namespace
}  // namespace perf
