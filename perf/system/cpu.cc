// SPDX-License-Identifier: Apache-2.0
#include "perf/system/cpu.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "netns/base/json.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr double kShortestIdle = 0.05;
constexpr double kMostSeconds = 1e9;

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// What passed between two samples, whatever went on before.
CpuUse between(const CpuSample& begin, const CpuSample& end) {
    // The kernel's counters may step back a little (proc(5) says so of iowait): then nothing passed.
    const auto in = [&](State state) {
        const uint64_t before = begin.machine[state];
        return static_cast<double>(std::max(end.machine[state], before) - before) * end.tick_s;
    };
    const double softirq = in(kSoftirq);
    const double kernel = in(kSystem) + in(kIrq) + softirq;
    const double own_system = std::max(end.own_system_s - begin.own_system_s, 0.0);
    return {.window_s = std::max(end.at_s - begin.at_s, 0.0),
            .own_user_s = std::max(end.own_user_s - begin.own_user_s, 0.0),
            .own_system_s = own_system,
            .machine_busy_s = in(kUser) + in(kNice) + kernel,
            .softirq_s = softirq,
            .kernel_work_elsewhere_s = kernel - own_system,
            .steal_s = in(kSteal)};
}

// Name and place of every value, for both directions.
constexpr std::pair<const char*, double CpuUse::*> kMembers[] = {
    {"window_s", &CpuUse::window_s},
    {"own_user_s", &CpuUse::own_user_s},
    {"own_system_s", &CpuUse::own_system_s},
    {"machine_busy_s", &CpuUse::machine_busy_s},
    {"softirq_s", &CpuUse::softirq_s},
    {"kernel_work_elsewhere_s", &CpuUse::kernel_work_elsewhere_s},
    {"steal_s", &CpuUse::steal_s},
    {"idle_busy_s", &CpuUse::idle_busy_s},
};
}  // namespace

Result<MachineTicks> parse_proc_stat(std::string_view text) {
    constexpr std::string_view kStart = "cpu ";
    if (!text.starts_with(kStart))
        return make_error(Code::BadInput, "/proc/stat does not begin with 'cpu '");
    auto words = split(text.substr(0, text.find('\n')), ' ');
    std::erase(words, "");  // between two blanks
    MachineTicks ticks;
    for (size_t at = 0; at < ticks.size(); ++at) {
        const auto number = at + 1 < words.size() ? number_of(words[at + 1]) : std::nullopt;
        if (!number)
            return make_error(Code::BadInput, "/proc/stat has a 'cpu' line without eight numbers");
        ticks[at] = *number;
    }
    return ticks;
}

std::optional<CpuSample> sample_cpu(const std::string& proc) {
    const auto text = read_start(proc + "/stat");  // the rest may be long
    if (!text)
        return std::nullopt;
    const auto ticks = parse_proc_stat(*text);
    rusage own{};
    if (!ticks || ::getrusage(RUSAGE_SELF, &own) != 0)
        return std::nullopt;
    const long per_second = ::sysconf(_SC_CLK_TCK);
    return CpuSample{
        .at_s = std::chrono::duration<double>(Deadline::Clock::now().time_since_epoch()).count(),
        .own_user_s = seconds(own.ru_utime),
        .own_system_s = seconds(own.ru_stime),
        .machine = *ticks,
        .tick_s = per_second > 0 ? 1.0 / static_cast<double>(per_second) : 0.01};
}

std::optional<CpuUse> idle_load(const CpuSample& begin, const CpuSample& end) {
    const CpuUse use = between(begin, end);
    return use.window_s < kShortestIdle ? std::nullopt : std::optional(use);
}

CpuUse cpu_use(const CpuSample& begin, const CpuSample& end, const std::optional<CpuUse>& idle) {
    CpuUse use = between(begin, end);
    const CpuUse load = idle.value_or(CpuUse{.window_s = 1});
    const auto take_off = [&](double& seconds, double before) {
        const double idly = std::max(before, 0.0) / load.window_s * use.window_s;
        seconds = std::max(seconds - idly, 0.0);
        return idly;
    };
    // Our own time is no load.
    use.idle_busy_s =
        take_off(use.machine_busy_s, load.machine_busy_s - load.own_user_s - load.own_system_s);
    (void)take_off(use.softirq_s, load.softirq_s);
    (void)take_off(use.kernel_work_elsewhere_s, load.kernel_work_elsewhere_s);
    return use;
}

void add(CpuUse& sum, const CpuUse& more) {
    for (const auto& [name, member] : kMembers) {
        if (member != &CpuUse::window_s)
            sum.*member += more.*member;
    }
}

Json to_json(const CpuUse& use) {
    Json out = Json::object();
    for (const auto& [name, member] : kMembers)
        out[name] = use.*member;
    return out;
}

Result<CpuUse> parse_cpu_use(const Json& json) {
    CpuUse use;
    for (const auto& [name, member] : kMembers) {
        const double value = TRY(base::required<double>(json, name));
        if (!(value >= 0 && value <= kMostSeconds))
            return make_error(
                Code::BadInput, "'{}' is {}, not from 0 to 10^9 seconds", name, value);
        use.*member = value;
    }
    return use;
}

// ---- processors ---------------------------------------------------------------------------------
std::optional<cpu_set_t> parse_processors(std::string_view list) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::string_view range : split(list, ',')) {
        const auto dash = range.find('-');
        const auto first = number_of(range.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : number_of(range.substr(dash + 1));
        if (!first || !last || *last < *first)
            return std::nullopt;
        for (uint64_t each = *first; each <= *last && each < CPU_SETSIZE; ++each)
            CPU_SET(each, &set);
    }
    return set;
}

std::optional<cpu_set_t> own_processors() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
        return std::nullopt;
    return set;
}

// A set that the kernel refuses, as the cpuset has changed meanwhile, costs only nearness.
std::shared_ptr<void> stay_on(const std::optional<cpu_set_t>& processors) {
    if (!processors)
        return nullptr;
    const auto before = own_processors();
    (void)::sched_setaffinity(0, sizeof *processors, &*processors);
    return {nullptr, [before](void*) {
                if (before)
                    (void)::sched_setaffinity(0, sizeof *before, &*before);
            }};
}

// ---- platform -----------------------------------------------------------------------------------
std::string cpu_of(std::string_view cpuinfo) {
    if (auto model = value_after(cpuinfo, "model name\t:"))
        return std::move(*model);
    const auto part = value_after(cpuinfo, "CPU part\t:");
    return part ? value_after(cpuinfo, "CPU implementer\t:").value_or("?") + ":" + *part : "";
}

std::string rdma_core_of(std::string_view maps) {
    constexpr std::string_view kLibrary = "/libibverbs.so.";
    const size_t found = maps.find(kLibrary);
    if (found == std::string_view::npos)
        return "";
    std::string_view version = maps.substr(found + kLibrary.size());
    version = version.substr(0, version.find_first_not_of("0123456789."));
    for (int i = 0; i < 2; ++i)
        version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
    return std::string(version);
}

Platform own_platform(const std::string& root) {
    constexpr size_t kLineLimit = 252;  // with the dots of a longer one no more than a message has
    std::string words = read_start(root + "/proc/self/cmdline").value_or("");
    words.resize(words.find_last_not_of('\0') + 1);
    std::ranges::replace(words, '\0', ' ');
    return {
        .cpu = cpu_of(read_start(root + "/proc/cpuinfo").value_or("")),
        .governor =
            read_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").value_or(""),
        .rdma_core = rdma_core_of(read_small(root + "/proc/self/maps").value_or("")),
        .command_line = printable(words, kLineLimit)};
}

}  // namespace perf
