// SPDX-License-Identifier: Apache-2.0
// Processes as tokens of life: a pid alone is reused, a pid with its start time is not (proc(5),
// /proc/PID/stat field 22, clock ticks since boot). The one thing that is changed of them is how
// much memory they may lock (prlimit(2), RLIMIT_MEMLOCK).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "netns/base/clock.h"
#include "netns/base/result.h"

namespace netns {

using base::Result;

struct ProcessToken {
    pid_t pid = 0;
    uint64_t start = 0;
    bool operator==(const ProcessToken&) const = default;
};

// Bytes; all bits set: no limit (RLIM_INFINITY).
struct Memlock {
    uint64_t soft = 0;
    uint64_t hard = 0;
    bool operator==(const Memlock&) const = default;
};

// Whether we are root of the machine: effective uid 0 in the first user namespace. Root of another
// one (a rootless engine's) cannot make devices.
bool is_machine_root();

class Processes {
  public:
    virtual ~Processes() = default;
    // The token of a process; nothing if there is none or it is a zombie.
    virtual Result<std::optional<ProcessToken>> token(pid_t pid) = 0;
    // What the process may lock in memory, and its children after it. Unavailable: it is gone.
    virtual Result<Memlock> memlock(const ProcessToken& process) = 0;
    virtual Result<> set_memlock(const ProcessToken& process, const Memlock& limit) = 0;
    // The processes that have a character device open, in ascending order. Looks at every
    // descriptor of every process, so it is asked only where something says that there is one.
    // Timeout: the deadline passed before all were looked at, and nothing is known. What is in
    // flight in a socket is in no process.
    virtual Result<std::vector<pid_t>> that_opened(uint32_t major,
                                                   uint32_t minor,
                                                   base::Deadline deadline) = 0;
    // The process that started us: the engine.
    virtual pid_t parent() = 0;
    virtual pid_t self() = 0;
    virtual Result<std::string> boot_id() = 0;
    // The number of the process's mount namespace; nothing: it is gone.
    virtual Result<std::optional<uint64_t>> mount_namespace(pid_t pid) = 0;
    // Since the boot, with the time that the machine slept (clock_gettime(2), CLOCK_BOOTTIME).
    virtual std::chrono::seconds uptime() = 0;
    // Whether a path exists (of a bundle, of a namespace).
    virtual bool exists(const std::string& path) = 0;
};

class KernelProcesses : public Processes {
  public:
    Result<std::optional<ProcessToken>> token(pid_t pid) override;
    Result<Memlock> memlock(const ProcessToken& process) override;
    Result<> set_memlock(const ProcessToken& process, const Memlock& limit) override;
    Result<std::vector<pid_t>> that_opened(uint32_t major,
                                           uint32_t minor,
                                           base::Deadline deadline) override;
    pid_t parent() override;
    pid_t self() override;
    Result<std::string> boot_id() override;
    Result<std::optional<uint64_t>> mount_namespace(pid_t pid) override;
    std::chrono::seconds uptime() override;
    bool exists(const std::string& path) override;
};

}  // namespace netns
