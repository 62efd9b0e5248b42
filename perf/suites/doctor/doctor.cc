// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/doctor/doctor.h"

#include <algorithm>

#include "perf/report/document.h"
#include "perf/report/report.h"
#include "perf/verbs/memory.h"

namespace perf {

namespace {
constexpr Check kChecks[] = {
    {"kernel", check_kernel},
    {"nodes", check_nodes},
    {"rdma_cm", check_rdma_cm},
    {"abi", check_abi},
    {"libibverbs", check_libibverbs},
    {"access", check_access},
    {"port", check_port},
    {"netdev", check_netdev},
    {"mtu", check_mtu},
    {"gid_table", check_gid_table},
    {"gid", check_gid},
    {"attachment", check_attachment},
    {"route", check_route},
    {"peer", check_peer},
    {"memlock", check_memlock},
    {"rdma_cgroup", check_rdma_cgroup},
    {"cpu_quota", check_cpu_quota},
    {"cores", check_cores},
    {"clock", check_clock},
};

// Returns the most memory that one side of a point of the plan registers.
uint64_t bytes_of(const Plan& plan) {
    uint64_t bytes = 0;
    for (const Point& point : expand(plan)) {
        for (const Side side : {Side::Client, Side::Server})
            bytes = std::max<uint64_t>(bytes, layout_of(point, side).bytes);
    }
    return bytes;
}
}  // namespace

std::span<const Check> all_checks() {
    return kChecks;
}

std::vector<Diagnosis> examine(const Scene& scene) {
    std::vector<Diagnosis> out;
    for (const Check& check : all_checks()) {
        for (Finding& finding : check.look(scene))
            out.push_back({check.id, std::move(finding)});
    }
    return out;
}

Json to_json(const std::vector<Diagnosis>& diagnoses, const std::string& peer) {
    return {{"peer", peer.empty() ? Json() : Json(peer)},
            {"usable", !base::any_failed(diagnoses)},
            {"checks", base::to_json(diagnoses)}};
}

Exit doctor(const LookOptions& look, const Surroundings& around) {
    Document document{.kind = "doctor"};
    Scene scene = gather(look, around.verbs, around.stop, "");
    if (const auto usual = parse_plan(Json::object()))
        scene.needed_bytes = bytes_of(*usual);
    const auto diagnoses = examine(scene);
    print(look.json == "-" ? around.err : around.out, base::to_text(diagnoses));
    document.members = to_json(diagnoses, look.peer);
    Exit exit = base::any_failed(diagnoses) ? Exit::Environment : Exit::Ok;
    if (around.stop.requested())
        exit = Exit::Interrupted;
    return conclude(document, Result<>(), exit, look.json, around);
}

const Suite kDoctor = {
    .name = "doctor",
    .help = "check what this container can see; changes nothing",
    .port = "TCP port of the peer",
    .run = doctor,
};

}  // namespace perf
