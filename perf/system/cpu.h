// SPDX-License-Identifier: Apache-2.0
// What a measurement costs in processor time. Two clocks over one window: our own process
// (getrusage(2), RUSAGE_SELF) and the whole machine by state (the first line of /proc/stat,
// proc(5)). The second is needed because a software device works in kworkers and softirqs that no
// process and no container is charged for. It counts everybody: neighbours, other containers, other
// clients of the same server; the idle baseline takes away only what was going on before the first
// point. In a container it is the host's, unless something (lxcfs) puts another file there.
//
// Units: seconds of one core; several cores give more than a second per second. The machine's
// states have a resolution of one tick (usually 10 ms): a window of some 100 ms is the least that
// says something.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sched.h>

#include "perf/base/names.h"

namespace perf {

// The states of processors, as /proc/stat has them; user time is with that of guests.
enum State : size_t { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kStates };

// The machine since its boot, in ticks of _SC_CLK_TCK.
using MachineTicks = std::array<uint64_t, kStates>;

// The first line of /proc/stat; Code::BadInput if it is not that.
Result<MachineTicks> parse_proc_stat(std::string_view text);

// Both clocks at one moment.
struct CpuSample {
    double at_s = 0;  // CLOCK_MONOTONIC
    double own_user_s = 0;
    double own_system_s = 0;
    MachineTicks machine{};
    double tick_s = 0.01;
};

// Nothing where /proc cannot be read: a report without these figures is still one.
std::optional<CpuSample> sample_cpu(const std::string& proc = "/proc");

// The cost of one window. The machine's figures are without the idle load, and never negative.
struct CpuUse {
    double window_s = 0;
    double own_user_s = 0;
    double own_system_s = 0;
    double machine_busy_s = 0;           // user, nice, system, irq, softirq; of everybody
    double softirq_s = 0;                // its part in softirq
    double kernel_work_elsewhere_s = 0;  // system, irq and softirq outside of our process
    double steal_s = 0;                  // what the hypervisor gave to others
    double idle_busy_s = 0;              // the idle load that was taken off machine_busy_s
};

// What goes on while we do nothing. Nothing if the window is too short (50 ms) for the resolution of
// the ticks.
std::optional<CpuUse> idle_load(const CpuSample& begin, const CpuSample& end);

CpuUse cpu_use(const CpuSample& begin, const CpuSample& end, const std::optional<CpuUse>& idle);

// All but the window.
void add(CpuUse& sum, const CpuUse& more);

Json to_json(const CpuUse& use);
Result<CpuUse> parse_cpu_use(const Json& json);  // each value from 0 to 10^9

// ---- processors ---------------------------------------------------------------------------------
// Of a list such as "0-3,8" (cpuset(7)), those below CPU_SETSIZE; nothing if it is no such list.
std::optional<cpu_set_t> parse_processors(std::string_view list);

// Those that the calling thread may run on; nothing where they are more than a set holds.
std::optional<cpu_set_t> own_processors();

// While what it returns lives, the calling thread stays on these processors (sched_setaffinity(2)).
// Threads that start meanwhile inherit them and stay there. Without a set it changes nothing.
[[nodiscard]] std::shared_ptr<void> stay_on(const std::optional<cpu_set_t>& processors);

// ---- what a machine's numbers depend on, beside its kernel and adapter --------------------------
// Empty: the system does not say.
struct Platform {
    std::string cpu = {};           // model name; of ARM, which has none, implementer and part
    std::string governor = {};      // of the first processor's frequency
    std::string rdma_core = {};     // version of the libibverbs that is loaded
    std::string command_line = {};  // of this program, its beginning
};

// Of this process, as /proc and /sys below the root say.
Platform own_platform(const std::string& root = "");

// Of the beginning of /proc/cpuinfo.
std::string cpu_of(std::string_view cpuinfo);

// Of /proc/self/maps. libibverbs.so.1.14.44.0 is of rdma-core 44.0: its library's version is in
// front. No call of the library says it.
std::string rdma_core_of(std::string_view maps);

}  // namespace perf
