// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "netns/values/peer_memory.h"
#include "perf/suites/doctor/doctor.h"
#include "perf/system/cpu.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
struct Adapter {
    const Scene& scene;
    const DeviceFacts& device;
    std::string name;

    [[nodiscard]] std::string line(const std::string& file) const {
        const std::string folder = scene.root + "/sys/class/infiniband/" + device.name;
        return read_line(folder + "/" + file).value_or("");
    }
};

template <Finding (*kLook)(const Adapter& adapter)>
Findings each_adapter(const Scene& scene) {
    Findings out;
    for (const DeviceFacts& device : scene.devices) {
        if (!device.software && !device.error)
            out.push_back(kLook({scene, device, printable(device.name)}));
    }
    return out.empty() ? skipped("no adapter: software devices have none of it") : out;
}

Finding look_at_part(const Adapter& adapter) {
    const Identity& it = adapter.device.identity;
    const std::string board = it.board.empty() ? "" : ", board " + it.board;
    return {Status::Ok,
            fmt::format("{}: {}{}, firmware {}", adapter.name, it.part, board, it.firmware)};
}

// Speeds are "16.0 GT/s PCIe"; a virtual function's are "Unknown".
Finding look_at_pcie(const Adapter& adapter) {
    const auto rate = [&](const std::string& kind) {
        return std::pair(
            std::strtod(adapter.line("device/" + kind + "_link_speed").c_str(), nullptr),
            number_of(adapter.line("device/" + kind + "_link_width")).value_or(0));
    };
    const auto now = rate("current");
    const auto most = rate("max");
    const auto text = [](const auto& of) {
        return fmt::format("{:.1f} GT/s x{}", of.first, of.second);
    };
    if (now.first == 0 || now.second == 0)
        return {Status::Skipped, adapter.name + ": its PCIe link cannot be seen from here"};
    if (now.first < most.first || now.second < most.second)
        return {Status::Warning,
                fmt::format("{}: PCIe {}, of {}", adapter.name, text(now), text(most)),
                "on the host: lspci -vv (LnkSta); see slot, riser and firmware settings"};
    return {Status::Ok, fmt::format("{}: PCIe {}", adapter.name, text(now))};
}

Finding look_at_numa(const Adapter& adapter) {
    const std::string& node = adapter.device.identity.numa_node;
    const std::string local = adapter.line("device/local_cpulist");
    const auto status = read_small(adapter.scene.root + "/proc/self/status").value_or("");
    auto near = parse_processors(local);
    const auto own = parse_processors(value_after(status, "Cpus_allowed_list:").value_or(""));
    const auto memory = parse_processors(value_after(status, "Mems_allowed_list:").value_or(""));
    const auto number = number_of(node);
    if (!number || !near || !own)
        return {Status::Skipped, adapter.name + ": its NUMA node is not known"};
    CPU_AND(&*near, &*near, &*own);
    const std::string where = fmt::format("{} is on NUMA node {}", adapter.name, node);
    const bool has_memory = !memory || CPU_ISSET(*number, &*memory);
    if (CPU_COUNT(&*near) != 0 && has_memory)
        return {
            Status::Ok,
            fmt::format("{}, with {} of this container's processors", where, CPU_COUNT(&*near))};
    return {
        Status::Warning,
        fmt::format(
            "{}, and this container has no {} of it", where, has_memory ? "processor" : "memory"),
        fmt::format("start it with --cpuset-cpus {} --cpuset-mems {}", local, node)};
}

Finding look_at_marks(const Adapter& adapter) {
    const std::string file = "tc/1/traffic_class";
    const std::string said = adapter.line(file);  // "Global tclass=106"
    if (!said.empty())
        return {Status::Ok, fmt::format("{}: {} ({})", adapter.name, said, file)};
    return {Status::Skipped,
            adapter.name +
                ": the driver tells no default traffic class; DSCP trust is seen on the host "
                "alone: mlnx_qos -i NETDEV"};
}

Findings check_peer_memory(const Scene& scene) {
    const netns::GpuHost host{
        .kernel =
            netns::version_of(read_line(scene.root + "/proc/sys/kernel/osrelease").value_or("")),
        .nvidia_version = read_small(scene.root + netns::kNvidiaVersion).value_or(""),
        .exists = [&](const char* path) {
            return ::access((scene.root + path).c_str(), F_OK) == 0;
        }};
    constexpr std::pair<const char*, const char*> kNodes[] = {{"/dev/nvidiactl", "nvidia"},
                                                              {"/dev/kfd", "amdgpu"}};
    Findings out;
    for (const auto& [node, driver] : kNodes) {
        if (!host.exists(node))
            continue;
        Finding& way = out.emplace_back(netns::look_at_gpu(host, driver));
        if (way.status == Status::Warning) {
            way.why += ": --memory cannot reach its GPUs";
            way.fix = "on the host: " + way.fix;
        }
    }
    return out.empty() ? skipped("no GPU is in this container") : out;
}

constexpr Check kAdapterTable[] = {
    {"adapter", each_adapter<look_at_part>},
    {"pcie", each_adapter<look_at_pcie>},
    {"numa", each_adapter<look_at_numa>},
    {"marks", each_adapter<look_at_marks>},
    {"peer_memory", check_peer_memory},
};
}  // namespace

const std::span<const Check> kAdapterChecks = kAdapterTable;

}  // namespace perf
