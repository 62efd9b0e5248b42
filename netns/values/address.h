// SPDX-License-Identifier: Apache-2.0
// Addresses as values: MAC (IEEE 802); IP with prefix length, v4 and v6; GID (InfiniBand
// architecture 4.1.1). A RoCE v2 GID is an IPv6 address, or an IPv4 address in its mapped form (RFC
// 4291 2.5.5.2). Parsing is strict: it takes one spelling. Printing gives the canonical one.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace netns {

struct Mac {
    std::array<uint8_t, 6> bytes{};
    auto operator<=>(const Mac&) const = default;

    [[nodiscard]] bool is_multicast() const { return (bytes[0] & 1U) != 0; }

    [[nodiscard]] bool is_zero() const { return *this == Mac{}; }
};

// Takes "02:00:5e:10:00:01", in lower or upper case; nothing else.
std::optional<Mac> parse_mac(std::string_view text);
std::string to_string(const Mac& mac);

enum class Family : uint8_t { V4, V6 };

struct Address {
    Family family = Family::V4;
    std::array<uint8_t, 16> bytes{};  // network order; the first 4 for V4, the rest zero
    uint8_t prefix = 0;               // prefix length, 0-32 or 0-128
    auto operator<=>(const Address&) const = default;
};

// Takes "10.9.0.1/24" or "fd00::1/64". The prefix length is required. No leading zeros, no zone.
std::optional<Address> parse_cidr(std::string_view text);
// Takes an address without a prefix length; its prefix is the full length.
std::optional<Address> parse_ip(std::string_view text);
std::string to_string(const Address& address);  // "10.9.0.1/24"
std::string ip_string(const Address& address);  // "10.9.0.1"
size_t address_bytes(Family family);            // 4 or 16
// Returns whether a host can have the address. It must not be unspecified, multicast, loopback or
// v4-mapped. A v4 address must not be reserved (0/8, 240/4), nor the network's or the broadcast
// address of its prefix (prefixes up to 30). Prefix 0 is refused: its connected route would cover
// everything.
bool is_host_address(const Address& address);
// fe80::/10 or 169.254/16.
bool is_link_local(const Address& address);
// Returns the network of the address: all bits behind the prefix are zero.
Address network_of(const Address& address);
bool is_network(const Address& address);
// Returns whether `address` lies in the network `net` (same family, under net.prefix).
bool contains(const Address& net, const Address& address);
// Returns the address `steps` further on; nothing past the end of the prefix.
std::optional<Address> advance(const Address& address, uint64_t steps);

struct Gid {
    std::array<uint8_t, 16> bytes{};
    auto operator<=>(const Gid&) const = default;

    [[nodiscard]] bool is_zero() const { return *this == Gid{}; }
};

// GIDs are spelled as in sysfs and rdma-core: eight groups of four hex digits.
std::optional<Gid> parse_gid(std::string_view text);
std::string to_string(const Gid& gid);
Gid gid_of(const Address& address);
// Returns fe80:: with the EUI-64 of the MAC: a RoCE port's default GID (kernel:
// addrconf_ifid_eui48).
Gid link_local_gid(const Mac& mac);
// Returns the node GUID that rxe and siw derive from their netdev's MAC (EUI-64, RFC 4291 appendix
// A).
uint64_t eui64(const Mac& mac);

}  // namespace netns
