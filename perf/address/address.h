// SPDX-License-Identifier: Apache-2.0
// Address: 16 bytes that are at once an IPv6 address, an IPv4 address in its mapped form
// (::ffff:a.b.c.d) and a GID, since a RoCE v2 GID is the address of its netdev written so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <netinet/in.h>

#include "netns/values/address.h"

namespace perf {

struct Address : netns::Gid {
    [[nodiscard]] bool is_v4() const;
    [[nodiscard]] bool is_link_local() const;  // fe80::/10
    [[nodiscard]] bool is_loopback() const;    // 127.0.0.0/8 or ::1

    // "10.9.0.1" or "fd00::1".
    [[nodiscard]] std::string text() const;

    // Eight groups of four hex digits, as sysfs and attach.json write a GID.
    [[nodiscard]] std::string gid_text() const { return netns::to_string(*this); }
};

// Either form that text() and gid_text() make; nothing if it is no address.
std::optional<Address> parse_address(std::string_view text);

// IPv4 and IPv6 socket addresses; nothing for other families.
std::optional<Address> from_sockaddr(const sockaddr* address);

// Where a socket is, or is to be.
struct SocketAddress {
    SocketAddress() = default;
    SocketAddress(const Address& address, uint16_t port);  // in host order

    // IPv4 and IPv6 have family and port at the same place.
    sockaddr_in& in() { return reinterpret_cast<sockaddr_in&>(raw); }

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&raw); }

    sockaddr_storage raw{};
    socklen_t length = sizeof raw;
};

}  // namespace perf
