// SPDX-License-Identifier: Apache-2.0
#include "netns/neighbour.h"

#include <array>
#include <cerrno>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/socket.h>

#include "netns/kernel/neighbour_packet.h"

namespace netns {

namespace {
constexpr size_t kMaxFrame = 2048;

base::Error link_error(const std::string& what) {
    base::Error error = sys_error(what);
    if (error.sys == ENETDOWN || error.sys == ENODEV || error.sys == ENXIO)
        error.code = Code::Unavailable;
    return error;
}

std::string what_of(const char* verb, const Address& address, const Station& station) {
    return std::string(verb) + " " + ip_string(address) + " on link " +
           std::to_string(station.index);
}

// Opens a socket of one link. It stays in the namespace in which it was made. It receives frames of
// `protocol`; none for 0.
Result<UniqueFd> open_socket(const Netns& ns,
                             const Station& station,
                             uint16_t protocol,
                             const std::string& what) {
    UniqueFd fd;
    TRY(inside(ns, [&]() -> Result<> {
        // Without a protocol it receives nothing before the bind.
        fd = UniqueFd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        return fd ? Result<>{} : Result<>{sys_error(what)};
    }));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(station.index);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return link_error(what);
    return fd;
}

Result<> send_frame(const UniqueFd& fd, const Frame& frame, const std::string& what) {
    if (::send(fd.get(), frame.data(), frame.size(), 0) < 0)
        return link_error(what);
    return {};
}

// Advertisements for a station without an address go to all nodes, and a link may not listen to
// them yet.
void join_all_nodes(const UniqueFd& fd, const Station& station) {
    packet_mreq group{};
    group.mr_ifindex = static_cast<int>(station.index);
    group.mr_type = PACKET_MR_MULTICAST;
    group.mr_alen = 6;
    constexpr std::array<uint8_t, 6> kAllNodes = {0x33, 0x33, 0, 0, 0, 1};
    std::copy(kAllNodes.begin(), kAllNodes.end(), std::begin(group.mr_address));
    // Links that receive everything refuse it, which does no harm.
    (void)::setsockopt(fd.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &group, sizeof group);
}

Result<std::optional<Mac>> listen_for(const UniqueFd& fd,
                                      const Station& station,
                                      const Address& address,
                                      base::Deadline deadline) {
    std::array<uint8_t, kMaxFrame> buffer{};
    while (!deadline.passed()) {
        pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, deadline.left_ms()) < 0 && errno != EINTR)
            return sys_error("wait for " + ip_string(address));
        const ssize_t size = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            return link_error(what_of("listen for", address, station));
        if (size <= 0)
            continue;
        const std::span<const uint8_t> frame{buffer.data(), static_cast<size_t>(size)};
        if (const auto owner = claimant(frame, station.mac, address))
            return std::optional<Mac>{*owner};
    }
    return std::optional<Mac>{};
}

class KernelNeighbours : public Neighbours {
  public:
    Result<> announce(const Netns& ns,
                      const Station& station,
                      const std::vector<Address>& addresses) override {
        // One socket for all addresses: to close one takes a grace period of RCU, 10 to 30 ms.
        const UniqueFd fd = TRY(open_socket(
            ns, station, 0, "announce addresses on link " + std::to_string(station.index)));
        for (const Address& address : addresses)
            TRY(send_frame(
                fd, announcement(station.mac, address), what_of("announce", address, station)));
        return {};
    }

    Result<std::optional<Mac>> find_owner(const Netns& ns,
                                          const Station& station,
                                          const Address& address,
                                          base::Deadline deadline) override {
        const std::string what = what_of("ask who has", address, station);
        const uint16_t protocol = address.family == Family::V4 ? ETHERTYPE_ARP : ETHERTYPE_IPV6;
        const UniqueFd fd = TRY(open_socket(ns, station, protocol, what));
        if (address.family == Family::V6)
            join_all_nodes(fd, station);
        TRY(send_frame(fd, probe(station.mac, address), what));
        return listen_for(fd, station, address, deadline);
    }
};
}  // namespace

std::unique_ptr<Neighbours> make_kernel_neighbours() {
    return std::make_unique<KernelNeighbours>();
}

}  // namespace netns
