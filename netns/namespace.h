// SPDX-License-Identifier: Apache-2.0
// Netnses opens, makes and pins network namespaces. The only setns(2) of the project is here. A
// namespace is identified by the device and inode number of its nsfs file (namespaces(7)). While a
// descriptor or a mount holds the namespace, no other gets the number. A pin is a bind mount by
// rdma-hook: it keeps a dead container's namespace reachable until rdma-hook's devices in it are
// undone. Descriptors are close-on-exec, so no child inherits one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "netns/names.h"

namespace netns {

// The identity of a namespace, from stat(2) of its nsfs file.
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

    // Returns the namespace of this process, which is the host's.
    virtual Result<Netns> current() = 0;

    // Opens the namespace behind a path. BadInput unless it is an nsfs file of a network namespace
    // (ioctl_ns(2) NS_GET_NSTYPE).
    virtual Result<Netns> open(const std::string& path) = 0;

    // Opens the namespace of a process. Unavailable: the process is gone.
    virtual Result<Netns> open_process(pid_t pid) = 0;

    // Opens the namespace behind a pin. Nothing if the pin is not there, or leads to another
    // namespace than `id`.
    virtual Result<std::optional<Netns>> open_pin(const std::string& path, NetnsId id) = 0;

    // Returns the number that identifies the namespace until the next boot: SO_NETNS_COOKIE of
    // socket(7) (Linux 5.14). Since 6.18 the namespace itself is asked.
    virtual Result<uint64_t> cookie(const Netns& ns) = 0;

    // Returns the first wanted namespace of those that a process is in, or that are mounted where a
    // process sees it, in any mount namespace. It does not find a namespace that only a thread, a
    // descriptor or a socket holds. It looks at every process: use it only when a pin did not lead
    // to the namespace.
    virtual Result<std::optional<Netns>> search(
        const std::function<Result<bool>(const Netns&)>& is_wanted) = 0;

    // Makes an empty namespace with `lo` up. (OCI runtimes raise `lo` only in namespaces that they
    // make.) It lives as long as a descriptor, a pin or a process holds it.
    virtual Result<Netns> make() = 0;

    // Mounts the namespace on `path`, making the file. Pinning the same namespace twice is no
    // error.
    virtual Result<> pin(const Netns& ns, const std::string& path) = 0;

    // Removes the pin and its file. A pin that is not there is no error.
    virtual Result<> unpin(const std::string& path) = 0;
};

class KernelNetnses : public Netnses {
  public:
    // Asks the kernel now; current() may return what it remembers.
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

// Runs `body` on a new thread inside the mount namespace, with that namespace's root as root and
// working directory. No other thread leaves its mount namespace. The thread ends there. For the
// rooms only.
Result<> inside_mounts(int mount_namespace, const std::function<Result<>()>& body);

// Runs `body` on this thread inside `ns` and comes back. If the way back fails the process aborts:
// continuing in a foreign namespace would be worse. For the rooms only.
Result<> inside(const Netns& ns, const std::function<Result<>()>& body);

}  // namespace netns
