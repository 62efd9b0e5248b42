// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/probe.h"

#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "netns/base/unique_fd.h"

namespace netns {

using base::sys_error;
using base::UniqueFd;

namespace {
constexpr uint16_t kRocePort = 4791;
}  // namespace

Result<bool> is_roce_port_taken(const Netns& ns) {
    bool taken = false;
    TRY(inside(ns, [&]() -> Result<> {
        const UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        if (!fd)
            return sys_error("open a UDP socket");
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(kRocePort);
        // Without SO_REUSEADDR, so that the kernel's own socket on the port is in the way.
        if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0)
            return {};
        if (errno != EADDRINUSE)
            return sys_error("try UDP port 4791");
        taken = true;
        return {};
    }));
    return taken;
}

}  // namespace netns
