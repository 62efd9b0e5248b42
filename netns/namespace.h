// SPDX-License-Identifier: Apache-2.0
// Network namespaces: opening, making, pinning. Owns the only setns(2) of the project. A namespace
// is identified by the device and inode number of its nsfs file (namespaces(7)); while it is held
// by a descriptor or a mount, the number is not given to another. The pin is a bind mount of our
// own: it keeps a dead container's namespace reachable until our devices in it are undone.
// Descriptors are close-on-exec; no child ever inherits one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace netns {

using base::Result;

struct NetnsId {
    uint64_t dev = 0;
    uint64_t ino = 0;
    bool operator==(const NetnsId&) const = default;
};

// An open network namespace. Copies share the descriptor.
class Netns {
  public:
    Netns(NetnsId id, base::UniqueFd fd)
        : id_(id), fd_(std::make_shared<const base::UniqueFd>(std::move(fd))) {}

    [[nodiscard]] NetnsId id() const { return id_; }

    [[nodiscard]] int fd() const { return fd_->get(); }

  private:
    NetnsId id_;
    std::shared_ptr<const base::UniqueFd> fd_;
};

class Netnses {
  public:
    virtual ~Netnses() = default;

    // The namespace of this process: the host's.
    virtual Result<Netns> current() = 0;

    // The namespace behind a path; refused (BadInput) unless it is an nsfs file of a network
    // namespace (ioctl_ns(2) NS_GET_NSTYPE).
    virtual Result<Netns> open(const std::string& path) = 0;

    // The namespace of a process; Unavailable if the process is gone.
    virtual Result<Netns> open_process(pid_t pid) = 0;

    // The namespace behind a pin of ours, or nothing if the pin is not there or is not (any more)
    // the namespace `id`.
    virtual Result<std::optional<Netns>> open_pin(const std::string& path, NetnsId id) = 0;

    // What names the namespace for good: SO_NETNS_COOKIE of socket(7) (Linux 5.14), which the
    // kernel gives to no other until the next boot. Asked of the namespace itself since 6.18.
    virtual Result<uint64_t> cookie(const Netns& ns) = 0;

    // The first namespace that is wanted, of those that a process is in or that are mounted where a
    // process sees it, whatever its mount namespace. One that a thread has for itself, a descriptor
    // or a socket alone is not found. Looks at every process: for what our pin should have led to.
    virtual Result<std::optional<Netns>> search(
        const std::function<Result<bool>(const Netns&)>& is_wanted) = 0;

    // A new, empty namespace with `lo` up (OCI runtimes raise it only in namespaces of their own).
    // It lives as long as a descriptor, a pin or a process holds it.
    virtual Result<Netns> make() = 0;

    // Mounts the namespace on `path`, making the file. Pinning the same namespace twice is done.
    virtual Result<> pin(const Netns& ns, const std::string& path) = 0;

    // Takes the pin away, and its file; one that is not there is no error.
    virtual Result<> unpin(const std::string& path) = 0;
};

class KernelNetnses : public Netnses {
  public:
    // What the kernel says now, where current() may remember.
    static Result<Netns> open_own();

    Result<Netns> current() override;
    Result<Netns> open(const std::string& path) override;
    Result<Netns> open_process(pid_t pid) override;
    Result<std::optional<Netns>> open_pin(const std::string& path, NetnsId id) override;
    Result<uint64_t> cookie(const Netns& ns) override;
    Result<std::optional<Netns>> search(
        const std::function<Result<bool>(const Netns&)>& is_wanted) override;
    Result<Netns> make() override;
    Result<> pin(const Netns& ns, const std::string& path) override;
    Result<> unpin(const std::string& path) override;
};

// Runs `body` on a thread of its own in the mount namespace, whose root and working directory are
// the thread's then; no other thread leaves its own. The thread ends with it and comes back never.
// For the rooms only.
Result<> inside_mounts(int mount_namespace, const std::function<Result<>()>& body);

// Runs `body` on this thread inside `ns` and comes back. If the way back fails the process aborts:
// going on in a stranger's namespace would be worse. For the rooms only.
Result<> inside(const Netns& ns, const std::function<Result<>()>& body);

}  // namespace netns
