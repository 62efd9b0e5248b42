// SPDX-License-Identifier: Apache-2.0
#include "netns/terminal.h"

#include <limits.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/base/unique_fd.h"

namespace netns {

void tell_parent(std::string_view line) {
    // By number: the header of glibc 2.36 declares these as C++ functions without a definition.
    const base::UniqueFd parent{static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0))};
    if (!parent)
        return;
    const base::UniqueFd fd{
        static_cast<int>(::syscall(SYS_pidfd_getfd, parent.get(), STDERR_FILENO, 0))};
    pollfd ready{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    // A pipe that polls writable takes PIPE_BUF bytes at once, so the write cannot block. A pipe
    // without a reader polls writable, too; the write would then raise SIGPIPE.
    if (fd && ::poll(&ready, 1, 0) == 1 && (ready.revents & (POLLOUT | POLLERR)) == POLLOUT)
        (void)!::write(fd.get(), line.data(), line.size() < PIPE_BUF ? line.size() : PIPE_BUF);
}

}  // namespace netns
