// SPDX-License-Identifier: Apache-2.0
#include "perf/system/tcp.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace perf {

namespace {
constexpr int kBacklog = 32;
constexpr int kDataBacklog = 256;  // a client dials all streams of a point at once

using Addresses = std::unique_ptr<addrinfo, decltype([](addrinfo* list) { ::freeaddrinfo(list); })>;

Result<Addresses> resolve(const std::string& host, uint16_t port, int flags) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const std::string service = std::to_string(port);
    const int rc = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &list);
    if (rc != 0)
        return make_error(Code::Unavailable, "address '{}': {}", printable(host), gai_strerror(rc))
            .advise("name an address, or a host that `getent hosts` finds");
    return Addresses(list);
}

void set_option(int fd, int level, int option, int value) {
    // Best effort: a kernel without the option still has the deadlines of every step.
    (void)::setsockopt(fd, level, option, &value, sizeof value);
}

// Frames are small and answered at once (no Nagle); a silent host is noticed (see tcp.h).
void tune(int fd) {
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
}

// One end of a connection (getsockname or getpeername).
std::optional<Address> address_of(int fd, int (*name_of_end)(int, sockaddr*, socklen_t*)) {
    SocketAddress end;
    return name_of_end(fd, end.get(), &end.length) == 0 ? from_sockaddr(end.get()) : std::nullopt;
}

// One end of a connection, with another port.
SocketAddress beside(int fd, int (*name_of_end)(int, sockaddr*, socklen_t*), uint16_t port) {
    SocketAddress address;
    const bool known = name_of_end(fd, address.get(), &address.length) == 0;
    if (!known || (address.raw.ss_family != AF_INET && address.raw.ss_family != AF_INET6))
        address = SocketAddress(*parse_address("127.0.0.1"), port);
    address.in().sin_port = htons(port);
    return address;
}

Result<Listener> listen_at(const sockaddr& address, socklen_t length, int backlog) {
    Listener listener;
    listener.fd.reset(
        ::socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (!listener.fd)
        return sys_error("socket");
    set_option(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (::bind(listener.fd.get(), &address, length) != 0 ||
        ::listen(listener.fd.get(), backlog) != 0)
        return sys_error("listen");
    SocketAddress own;
    if (::getsockname(listener.fd.get(), own.get(), &own.length) == 0)
        listener.port = ntohs(own.in().sin_port);
    const auto here = from_sockaddr(own.get());
    listener.name =
        here ? fmt::format(
                   fmt::runtime(here->is_v4() ? "{}:{}" : "[{}]:{}"), here->text(), listener.port)
             : "?";
    return listener;
}

Result<Listener> listen_one(const std::string& address, uint16_t port) {
    const Addresses list = TRY(resolve(address, port, AI_PASSIVE | AI_NUMERICHOST));
    return listen_at(*list->ai_addr, list->ai_addrlen, kBacklog)
        .context(fmt::format("listen on {} port {}", address, port))
        .advise("choose another address with --bind or another port with --port");
}

// What the kernel refuses to connect cannot be reached.
Error unavailable(Error error) {
    if (error.code == Code::Kernel)
        error.code = Code::Unavailable;
    return error;
}

Result<UniqueFd> connect_one(const sockaddr& target,
                             socklen_t length,
                             const Deadline& deadline,
                             const Stop& stop) {
    UniqueFd fd(
        ::socket(target.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (!fd)
        return sys_error("socket");
    tune(fd.get());
    if (::connect(fd.get(), &target, length) == 0)
        return fd;
    if (errno != EINPROGRESS)
        return sys_error("connect");
    TRY(wait_ready(fd.get(), POLLOUT, deadline, stop));
    int pending = 0;
    length = sizeof pending;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &pending, &length) != 0)
        return sys_error("getsockopt");
    if (pending != 0)
        return sys_error(pending, "connect");
    return fd;
}
}  // namespace

Result<std::vector<Listener>> listen_on(const std::vector<std::string>& addresses, uint16_t port) {
    std::vector<Listener> listeners;
    for (const auto& address : addresses)
        listeners.push_back(TRY(listen_one(address, port)));
    if (!addresses.empty())
        return listeners;
    listeners.push_back(TRY(listen_one("127.0.0.1", port)));
    // A namespace without IPv6 is no reason to refuse to serve.
    if (auto six = listen_one("::1", port); six)
        listeners.push_back(std::move(six).value());
    return listeners;
}

Result<Listener> listen_beside(int fd) {
    SocketAddress address = beside(fd, ::getsockname, 0);
    return listen_at(*address.get(), address.length, kDataBacklog).context("for data connections");
}

Result<UniqueFd> connect_beside(int fd, uint16_t port, const Deadline& deadline, const Stop& stop) {
    SocketAddress address = beside(fd, ::getpeername, port);
    auto connected = connect_one(*address.get(), address.length, deadline, stop);
    if (connected)
        return connected;
    return unavailable(std::move(connected).error())
        .in(fmt::format("connect to port {} of the server for data", port))
        .advise("let a firewall in between pass connections to any TCP port of the server");
}

Error socket_error(int number, std::string what) {
    Error error = sys_error(number, std::move(what));
    if (number == ECONNRESET || number == EPIPE || number == ETIMEDOUT || number == ENOTCONN ||
        number == EHOSTUNREACH || number == ENETUNREACH)
        error.code = Code::Unavailable;
    return error;
}

Result<std::optional<UniqueFd>> accept_from(const Listener& listener) {
    UniqueFd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
        tune(fd.get());
        return std::optional<UniqueFd>(std::move(fd));
    }
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
        return std::optional<UniqueFd>();
    return sys_error("accept on " + listener.name);
}

Result<UniqueFd> connect_to(const std::string& host,
                            uint16_t port,
                            const Deadline& deadline,
                            const Stop& stop) {
    const Addresses list = TRY(resolve(host, port, AI_ADDRCONFIG));
    Error last = make_error(Code::Unavailable, "no address")
                     .advise("name an address, or a host that `getent hosts` finds");
    for (const addrinfo* target = list.get(); target != nullptr; target = target->ai_next) {
        auto connected = connect_one(*target->ai_addr, target->ai_addrlen, deadline, stop);
        if (connected)
            return connected;
        last = std::move(connected).error();
        if (last.sys == ECANCELED || last.code == Code::Timeout)
            break;
    }
    return unavailable(std::move(last))
        .in(fmt::format("connect to {} port {}", printable(host), port))
        .advise(
            "start `rdma-perf serve --bind ADDRESS` there, or see what keeps you from reaching it");
}

std::optional<Address> local_address(int fd) {
    return address_of(fd, ::getsockname);
}

std::optional<Address> peer_address(int fd) {
    return address_of(fd, ::getpeername);
}

std::optional<Address> route_source(const Address& peer) {
    const UniqueFd fd(
        ::socket(peer.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
    constexpr uint16_t kRoceV2Port = 4791;  // a route may depend on the port
    SocketAddress there(peer, kRoceV2Port);
    if (!fd || ::connect(fd.get(), there.get(), there.length) != 0)
        return std::nullopt;
    return local_address(fd.get());
}

Result<std::vector<Address>> sources_towards(const std::string& host) {
    const Addresses list = TRY(resolve(host, 0, AI_ADDRCONFIG));
    std::vector<Address> sources;
    // In the order in which connect_to() tries them.
    for (const addrinfo* target = list.get(); target != nullptr; target = target->ai_next) {
        const auto address = from_sockaddr(target->ai_addr);
        const auto source = address ? route_source(*address) : std::nullopt;
        if (source && std::ranges::find(sources, *source) == sources.end())
            sources.push_back(*source);
    }
    if (sources.empty())
        return make_error(Code::Unavailable, "no route leads to " + printable(host))
            .advise("see `ip route` in this container");
    return sources;
}

}  // namespace perf
