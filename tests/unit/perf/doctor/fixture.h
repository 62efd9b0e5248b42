// SPDX-License-Identifier: Apache-2.0
// A root folder with what a container with one healthy SoftRoCE device sees, to be spoilt.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "perf/suites/doctor/doctor.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/perf/fake_verbs.h"

namespace test {

class Root {
  public:
    Root() {
        put("sys/class/infiniband/rxe0/node_type", "1: CA\n");
        put("sys/class/infiniband_verbs/abi_version", "6\n");
        put("dev/infiniband/uverbs0", "");
        put("dev/infiniband/rdma_cm", "");
        put("proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            "Max locked memory         unlimited            unlimited            bytes     \n");
        put("proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-3,8\n");
        put("proc/self/uid_map", "         0          0 4294967295\n");
        put("proc/self/cgroup", "0::/\n");
        put("sys/fs/cgroup/cpu.max", "max 100000\n");
        put("proc/sys/kernel/osrelease", "6.12.48+deb13-amd64\n");
        put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    }

    void put(const std::string& name, const std::string& content) const {
        const std::filesystem::path file = dir_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << content;
    }

    void remove(const std::string& name) const { std::filesystem::remove_all(dir_ / name); }

    [[nodiscard]] std::string path() const { return dir_.path(); }

  private:
    TempDir dir_;
};

// A container with rdma0 = 10.9.0.1 on rxe0, read from `root`.
inline perf::Scene healthy_scene(const Root& root) {
    const auto ip = [](const char* text) { return perf::parse_address(text).value(); };
    perf::Scene scene;
    scene.root = root.path();
    scene.attach_file = root.path() + "/run/rdma/attach.json";
    scene.needed_bytes = 9U << 20U;
    scene.devices = {{.name = "rxe0",
                      .error = {},
                      .ports = {{.number = 1,
                                 .active = true,
                                 .ethernet = true,
                                 .state = "PORT_ACTIVE",
                                 .active_mtu = 1024}},
                      .software = true}};
    scene.interfaces = {{.name = "lo", .up = true, .carrier = true, .mtu = 65536},
                        {.name = "rdma0", .up = true, .carrier = true, .mtu = 1500}};
    scene.found.tables.rows = {gid_row(1, "10.9.0.1", perf::GidType::RoceV2, "rdma0")};
    scene.found.tables.addresses = {{"lo", ip("127.0.0.1")}, {"rdma0", ip("10.9.0.1")}};
    scene.found.query.sources = {ip("10.9.0.1")};
    return scene;
}

// Chooses again after a change of tables or query.
inline void choose(perf::Scene& scene) {
    scene.found.choice =
        perf::choose_gid(scene.found.tables.rows, scene.found.tables.addresses, scene.found.query);
}

}  // namespace test
