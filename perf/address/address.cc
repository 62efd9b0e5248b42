// SPDX-License-Identifier: Apache-2.0
#include "perf/address/address.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <arpa/inet.h>

namespace perf {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool Address::is_v4() const {
    return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

bool Address::is_link_local() const {
    return bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
}

bool Address::is_loopback() const {
    if (is_v4())
        return bytes[12] == 127;
    return std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) &&
           bytes[15] == 1;
}

std::string Address::text() const {
    char out[INET6_ADDRSTRLEN] = "";
    const bool v4 = is_v4();
    return ::inet_ntop(v4 ? AF_INET : AF_INET6, &bytes[v4 ? 12 : 0], out, sizeof out);
}

std::optional<Address> parse_address(std::string_view text) {
    const auto ip = netns::parse_ip(text);
    return ip ? std::optional(Address{netns::gid_of(*ip)}) : std::nullopt;
}

std::optional<Address> from_sockaddr(const sockaddr* address) {
    Address out;
    if (address != nullptr && address->sa_family == AF_INET) {
        std::ranges::copy(kMapped, out.bytes.begin());
        std::memcpy(&out.bytes[12], &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
        return out;
    }
    if (address != nullptr && address->sa_family == AF_INET6)
        return std::bit_cast<Address>(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
    return std::nullopt;
}

SocketAddress::SocketAddress(const Address& address, uint16_t port) {
    in().sin_family = address.is_v4() ? AF_INET : AF_INET6;
    in().sin_port = htons(port);
    if (address.is_v4()) {
        length = sizeof(sockaddr_in);
        std::memcpy(&in().sin_addr, &address.bytes[12], 4);
    } else {
        length = sizeof(sockaddr_in6);
        std::memcpy(&reinterpret_cast<sockaddr_in6&>(raw).sin6_addr, address.bytes.data(), 16);
    }
}

}  // namespace perf
