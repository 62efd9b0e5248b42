// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "perf/report/report.h"
#include "perf/suites/doctor/doctor.h"
#include "perf/system/cpu.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
// A file of this process's cgroup (version 2): below its path, or, with a cgroup namespace, at the
// top of the mount.
std::optional<std::string> read_cgroup(const Scene& scene, const std::string& name) {
    const std::string mount = scene.root + "/sys/fs/cgroup";
    const auto membership = read_small(scene.root + "/proc/self/cgroup");
    const auto path = membership ? value_after(*membership, "0::") : std::nullopt;
    if (path && path->find("..") == std::string::npos) {
        if (auto text = read_small(mount + *path + "/" + name))
            return text;
    }
    return read_small(mount + "/" + name);
}

// KEY=VALUE of a device's line in rdma.max or rdma.current; nothing for "max".
std::optional<uint64_t> cgroup_value(std::string_view line, std::string_view key) {
    for (const std::string_view word : words_of(line)) {
        if (word.starts_with(key) && word.substr(key.size()).starts_with('='))
            return number_of(word.substr(key.size() + 1));
    }
    return std::nullopt;
}

Findings check_memlock(const Scene& scene) {
    const std::string limits = read_small(scene.root + "/proc/self/limits").value_or("");
    const std::string line = value_after(limits, "Max locked memory").value_or("");
    const auto words = words_of(line);
    if (words.empty())
        return warning("/proc/self/limits does not say how much memory may be locked",
                       "look at: ulimit -l");
    const std::string need = "a run without options locks " + human_size(scene.needed_bytes);
    if (words[0] == "unlimited")
        return ok("memory to be locked: unlimited; " + need);
    const auto limit = number_of(words[0]);
    if (!limit)
        return warning("/proc/self/limits is not as proc(5) says", "look at: ulimit -l");
    const std::string seen = "memory to be locked: " + human_size(*limit) + "; " + need;
    if (may_lock_anything(scene.root))
        return ok(seen + "; CAP_IPC_LOCK lifts the limit");
    constexpr std::string_view kFix = "rdma.memlock=unlimited, or podman run --ulimit memlock=-1";
    // Queues of hardware are locked as well: twice the data leaves them room.
    if (*limit < scene.needed_bytes)
        return fail(seen, std::string(kFix));
    if (*limit / 2 < scene.needed_bytes)
        return warning(seen + ": little is left for queues", std::string(kFix));
    return ok(seen);
}

Findings check_rdma_cgroup(const Scene& scene) {
    const auto limits = read_cgroup(scene, "rdma.max");
    if (!limits)
        return skipped("no rdma.max: the rdma cgroup controller sets no limit here");
    const std::string used = read_cgroup(scene, "rdma.current").value_or("");
    constexpr std::pair<std::string_view, uint64_t> kNeeds[] = {
        {"hca_handle", 1}, {"hca_object", 4}};  // domain, region, completion queue, queue pair
    Findings out;
    for (const DeviceFacts& device : scene.devices) {
        // One line for each device: "rxe0 hca_handle=2 hca_object=2000".
        const std::string limit = value_after(*limits, device.name + " ").value_or("");
        const std::string in_use = value_after(used, device.name + " ").value_or("");
        for (const auto& [key, need] : kNeeds) {
            const auto max = cgroup_value(limit, key);
            const uint64_t now = cgroup_value(in_use, key).value_or(0);
            if (max && (*max < now || *max - now < need))
                out.push_back({Status::Fail,
                               fmt::format("rdma.max of {}: {}={}, {} in use, a run needs {}",
                                           printable(device.name),
                                           key,
                                           *max,
                                           now,
                                           need),
                               "on the host: raise it in rdma.max of the container's cgroup"});
        }
    }
    return out.empty() ? ok("rdma.max leaves room for a run") : out;
}

Findings check_cpu_quota(const Scene& scene) {
    const std::string text = read_cgroup(scene, "cpu.max").value_or("");
    const auto words = words_of(text);
    if (words.size() != 2)
        return skipped("no cpu.max: not known whether the CPU is limited");
    const auto quota = number_of(words[0]);
    const auto period = number_of(words[1]);
    if (words[0] == "max")
        return ok("CPU time is not limited");
    if (!quota || !period || *period == 0)
        return skipped("cpu.max is not as the kernel writes it");
    const std::string stat = read_cgroup(scene, "cpu.stat").value_or("");
    const uint64_t throttled =
        number_of(value_after(stat, "nr_throttled ").value_or("")).value_or(0);
    const double cores = static_cast<double>(*quota) / static_cast<double>(*period);
    const std::string seen = fmt::format("CPU time of {:.2f} cores", cores);
    constexpr std::string_view kFix =
        "measure without a limit (podman run without --cpus), or with --poll event";
    if (throttled != 0)
        return warning(
            fmt::format("{}, throttled {} times: numbers are not to be trusted", seen, throttled),
            std::string(kFix));
    if (cores < 2)
        return warning(seen + ": a polling thread uses up one of them", std::string(kFix));
    return ok(seen + ", never throttled");
}

Findings check_cores(const Scene& scene) {
    const std::string status = read_small(scene.root + "/proc/self/status").value_or("");
    const std::string list = value_after(status, "Cpus_allowed_list:").value_or("");
    const auto allowed = parse_processors(list);
    if (!allowed)
        return skipped("/proc/self/status does not say on which cores this may run");
    const int cores = CPU_COUNT(&*allowed);
    const std::string seen = fmt::format("{} {}", cores, cores == 1 ? "core" : "cores");
    if (cores < 2)
        return warning(seen + ": with --poll spin a software device or a local peer would starve",
                       "leave --poll at auto (yield) or use event; or give the container more "
                       "cores (--cpuset-cpus)");
    return ok(seen + ": --poll auto spins on adapters, and yields on software devices");
}

Findings check_clock(const Scene& scene) {
    constexpr std::string_view kFast[] = {
        "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod"};
    const auto name =
        read_line(scene.root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (!name || name->empty())
        return skipped("the clock source cannot be read");
    if (std::ranges::find(kFast, *name) != std::end(kFast))
        return ok("clock source " + *name);
    return warning("clock source " + *name + ": reading it is a system call and slow",
                   "latencies of less than some microseconds are too high: on the host, see why "
                   "tsc is not used (dmesg | grep clocksource)");
}

constexpr Check kLimitTable[] = {
    {"memlock", check_memlock},
    {"rdma_cgroup", check_rdma_cgroup},
    {"cpu_quota", check_cpu_quota},
    {"cores", check_cores},
    {"clock", check_clock},
};
}  // namespace

const std::span<const Check> kLimitChecks = kLimitTable;

}  // namespace perf
