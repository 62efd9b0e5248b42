// SPDX-License-Identifier: Apache-2.0
#include "netns/base/folder_watch.h"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace base {

namespace {
constexpr uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE;
// An attach writes several files one after the other.
constexpr std::chrono::milliseconds kTogether{100};

// Returns whether the descriptor can be read before the deadline.
Result<bool> readable(int fd, Deadline deadline) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    for (;;) {
        const int count = ::poll(&ready, 1, deadline.left_ms());
        if (count >= 0)
            return count > 0;
        if (errno != EINTR)
            return sys_error("wait for changes of folders");
    }
}
}  // namespace

Result<FolderWatch> FolderWatch::open(const std::vector<std::string>& folders) {
    UniqueFd fd{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    if (!fd)
        return sys_error("watch folders");
    for (const std::string& folder : folders) {
        if (::inotify_add_watch(fd.get(), folder.c_str(), kChanges | IN_ONLYDIR) < 0)
            return sys_error("watch folder " + folder);
    }
    return FolderWatch{std::move(fd)};
}

Result<bool> FolderWatch::drain() {
    alignas(inotify_event) std::array<char, 4096> events{};
    bool any = false;
    for (;;) {
        const ssize_t size = ::read(fd_.get(), events.data(), events.size());
        if (size > 0)
            any = true;
        else if (size < 0 && errno == EAGAIN)
            return any;
        else if (size < 0 && errno != EINTR)
            return sys_error("read changes of folders");
    }
}

Result<bool> FolderWatch::wait(Deadline deadline) {
    if (!TRY(readable(fd_.get(), deadline)))
        return false;
    const Deadline together = Deadline::in(kTogether);
    do
        (void)TRY(drain());
    while (TRY(readable(fd_.get(), together)));
    return true;
}

}  // namespace base
