// SPDX-License-Identifier: Apache-2.0
// Processes identifies processes for as long as they live. A pid is reused; a pid with its start
// time is not (proc(5), /proc/PID/stat field 22, clock ticks since boot). The room changes one
// thing: how much memory a process may lock (prlimit(2), RLIMIT_MEMLOCK).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "netns/names.h"

namespace netns {

struct ProcessToken {
    pid_t pid = 0;
    uint64_t start = 0;  // clock ticks since boot
    bool operator==(const ProcessToken&) const = default;
};

// Limits of locked memory in bytes; all bits set: no limit (RLIM_INFINITY).
struct Memlock {
    uint64_t soft = 0;
    uint64_t hard = 0;
    bool operator==(const Memlock&) const = default;
};

// The user as whom a process acts. In a user namespace (user_namespaces(7)) users have other
// numbers than outside, and those without one there share the overflow uid.
struct Caller {
    bool root = false;   // root of the machine
    uid_t user = 0;      // its number outside: for a rootless engine the user's
    uid_t root_uid = 0;  // the owner of root's files, as the process sees it
    bool operator==(const Caller&) const = default;
};

// Returns the user of this process.
Caller find_caller();

// Returns the user of a process that is not root of the machine, by its effective uid, the text of
// its /proc/PID/uid_map, and the owner of "/" as it sees that. The map has numbers of the user
// namespace above it: the 0 there is root's only if "/" is its own.
Caller parse_caller(uid_t effective, std::string_view uid_map, uid_t owner_of_all);

// Writes a line to the standard error of the parent process, the engine. Podman discards what a
// precreate hook writes; the person who typed the command must still see why it failed. It writes on
// the parent's open file (pidfd_getfd(2), Linux 5.6), so that neither overwrites the other if that
// is a file. It never waits for a reader, and never acquires a controlling terminal. A failure is
// ignored.
void tell_parent(std::string_view line);

class Processes {
  public:
    virtual ~Processes() = default;
    // Returns the token of a process; nothing if there is none, or if it is a zombie.
    virtual Result<std::optional<ProcessToken>> token(pid_t pid) = 0;
    // Both are about the process and children that it starts later. Unavailable: the process is
    // gone.
    virtual Result<Memlock> memlock(const ProcessToken& process) = 0;
    virtual Result<> set_memlock(const ProcessToken& process, const Memlock& limit) = 0;
    // Returns the processes that have a character device open, in ascending order. It looks at
    // every descriptor of every process: call it only if something says that there is one. A
    // descriptor in flight in a socket is in no process, and not found. Timeout: the deadline
    // passed before all were looked at; the answer is unknown.
    virtual Result<std::vector<pid_t>> that_opened(uint32_t major,
                                                   uint32_t minor,
                                                   base::Deadline deadline) = 0;
    // Returns the process that started this one: the engine.
    virtual pid_t parent() = 0;
    virtual pid_t self() = 0;
    // Returns the UUID of this boot (/proc/sys/kernel/random/boot_id).
    virtual Result<std::string> boot_id() = 0;
    // Returns the number of the process's mount namespace; nothing if the process is gone.
    virtual Result<std::optional<uint64_t>> mount_namespace(pid_t pid) = 0;
    // Returns the time since the boot, with the time that the machine slept (clock_gettime(2),
    // CLOCK_BOOTTIME).
    virtual std::chrono::seconds uptime() = 0;
    // Returns whether a path exists (of a bundle, of a namespace).
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
