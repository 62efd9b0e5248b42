// SPDX-License-Identifier: Apache-2.0
#include "netns/values/address.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

namespace netns {

namespace {
constexpr std::array<uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<uint8_t> hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return static_cast<uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f')
        return static_cast<uint8_t>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return static_cast<uint8_t>(c - 'A' + 10);
    return std::nullopt;
}

std::optional<uint8_t> hex_byte(std::string_view two) {
    const auto high = hex_digit(two[0]);
    const auto low = hex_digit(two[1]);
    if (!high || !low)
        return std::nullopt;
    return static_cast<uint8_t>(*high << 4U | *low);
}

void put_hex(std::string& out, uint8_t byte) {
    static constexpr char kHex[] = "0123456789abcdef";
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
}

// Reads a decimal number up to `limit`, without sign, spaces or leading zeros.
std::optional<uint8_t> decimal(std::string_view text, unsigned limit) {
    if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0'))
        return std::nullopt;
    unsigned value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9')
            return std::nullopt;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    if (value > limit)
        return std::nullopt;
    return static_cast<uint8_t>(value);
}

// Parses v4 by hand: inet_pton(3) takes leading zeros in some libraries and not in others.
std::optional<Address> parse_v4(std::string_view text) {
    Address address{.family = Family::V4, .bytes = {}, .prefix = 32};
    for (size_t i = 0; i < 4; ++i) {
        const auto dot = i < 3 ? text.find('.') : text.size();
        if (dot == std::string_view::npos)
            return std::nullopt;
        const auto byte = decimal(text.substr(0, dot), 255);
        if (!byte)
            return std::nullopt;
        address.bytes[i] = *byte;
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return address;
}

// Prints v4 by hand: inet_ntop(3) calls printf(3), twenty times as many instructions.
std::string v4_string(const Address& address) {
    std::string text;
    for (size_t i = 0; i < 4; ++i) {
        if (i != 0)
            text += '.';
        text += std::to_string(address.bytes[i]);
    }
    return text;
}

std::optional<Address> parse_v6(std::string_view text) {
    // The longest spelling is six groups and a dotted quad; a zone ("%eth0") fails in inet_pton.
    char buffer[INET6_ADDRSTRLEN] = {};
    if (text.size() >= sizeof buffer || text.find('\0') != std::string_view::npos)
        return std::nullopt;
    text.copy(buffer, text.size());
    Address address{.family = Family::V6, .bytes = {}, .prefix = 128};
    if (::inet_pton(AF_INET6, buffer, address.bytes.data()) != 1)
        return std::nullopt;
    return address;
}

bool bit_at(const Address& address, unsigned bit) {
    return (address.bytes[bit / 8] >> (7U - bit % 8) & 1U) != 0;
}

bool host_bits_all(const Address& address, bool value) {
    for (unsigned bit = address.prefix; bit < address_bytes(address.family) * 8; ++bit) {
        if (bit_at(address, bit) != value)
            return false;
    }
    return true;
}

bool is_v4_host(const Address& address) {
    const uint8_t first = address.bytes[0];
    if (first == 0 || first == 127 || first >= 224)  // this network, loopback, multicast, reserved
        return false;
    return address.prefix > 30 || (!host_bits_all(address, false) && !host_bits_all(address, true));
}

bool is_v6_host(const Address& address) {
    const auto& bytes = address.bytes;
    const bool mapped = std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin());
    const bool low = std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; });
    return !mapped && bytes[0] != 0xff && !(low && bytes[15] <= 1);
}

std::array<uint8_t, 8> eui64_bytes(const Mac& mac) {
    const auto& m = mac.bytes;
    return {static_cast<uint8_t>(m[0] ^ 2U), m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
}
}  // namespace

std::optional<Mac> parse_mac(std::string_view text) {
    Mac mac;
    if (text.size() != 17)
        return std::nullopt;
    for (size_t i = 0; i < 6; ++i) {
        const auto byte = hex_byte(text.substr(i * 3, 2));
        if (!byte || (i < 5 && text[i * 3 + 2] != ':'))
            return std::nullopt;
        mac.bytes[i] = *byte;
    }
    return mac;
}

std::string to_string(const Mac& mac) {
    std::string out;
    for (const uint8_t byte : mac.bytes) {
        if (!out.empty())
            out += ':';
        put_hex(out, byte);
    }
    return out;
}

std::optional<Address> parse_ip(std::string_view text) {
    return text.find(':') == std::string_view::npos ? parse_v4(text) : parse_v6(text);
}

std::optional<Address> parse_cidr(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos)
        return std::nullopt;
    auto address = parse_ip(text.substr(0, slash));
    if (!address)
        return std::nullopt;
    const auto prefix = decimal(text.substr(slash + 1), address->prefix);
    if (!prefix)
        return std::nullopt;
    address->prefix = *prefix;
    return address;
}

std::string ip_string(const Address& address) {
    if (address.family == Family::V4)
        return v4_string(address);
    char buffer[INET6_ADDRSTRLEN] = {};
    // This cannot fail: the size is right by construction.
    return ::inet_ntop(AF_INET6, address.bytes.data(), buffer, sizeof buffer);
}

std::string to_string(const Address& address) {
    return ip_string(address) + "/" + std::to_string(address.prefix);
}

size_t address_bytes(Family family) {
    return family == Family::V4 ? 4 : 16;
}

bool is_host_address(const Address& address) {
    // An address with prefix 0 would bring a connected route that covers everything.
    if (address.prefix == 0)
        return false;
    return address.family == Family::V4 ? is_v4_host(address) : is_v6_host(address);
}

bool is_link_local(const Address& address) {
    const auto& bytes = address.bytes;
    if (address.family == Family::V4)
        return bytes[0] == 169 && bytes[1] == 254;
    return bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
}

Address network_of(const Address& address) {
    Address masked = address;
    for (unsigned bit = address.prefix; bit < address_bytes(address.family) * 8; ++bit)
        masked.bytes[bit / 8] &= static_cast<uint8_t>(~(0x80U >> bit % 8));
    return masked;
}

bool is_network(const Address& address) {
    return network_of(address) == address;
}

bool contains(const Address& net, const Address& address) {
    if (net.family != address.family)
        return false;
    for (unsigned bit = 0; bit < net.prefix; ++bit) {
        if (bit_at(net, bit) != bit_at(address, bit))
            return false;
    }
    return true;
}

std::optional<Address> advance(const Address& address, uint64_t steps) {
    Address next = address;
    uint64_t carry = 0;
    for (size_t i = address_bytes(address.family); i-- > 0;) {
        const uint64_t sum = next.bytes[i] + (steps & 0xffU) + carry;
        next.bytes[i] = static_cast<uint8_t>(sum);
        carry = sum >> 8U;
        steps >>= 8U;
    }
    if (carry != 0 || steps != 0 || !contains(address, next))
        return std::nullopt;
    return next;
}

std::optional<Gid> parse_gid(std::string_view text) {
    Gid gid;
    if (text.size() != 39)
        return std::nullopt;
    for (size_t i = 0; i < 16; ++i) {
        const size_t at = i / 2 * 5 + i % 2 * 2;
        const auto byte = hex_byte(text.substr(at, 2));
        if (!byte || (i % 2 == 1 && i < 15 && text[at + 2] != ':'))
            return std::nullopt;
        gid.bytes[i] = *byte;
    }
    return gid;
}

std::string to_string(const Gid& gid) {
    std::string out;
    for (size_t i = 0; i < gid.bytes.size(); ++i) {
        if (i != 0 && i % 2 == 0)
            out += ':';
        put_hex(out, gid.bytes[i]);
    }
    return out;
}

Gid gid_of(const Address& address) {
    Gid gid;
    if (address.family == Family::V6) {
        gid.bytes = address.bytes;
        return gid;
    }
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), gid.bytes.begin());
    std::copy_n(address.bytes.begin(), 4, gid.bytes.begin() + kMappedPrefix.size());
    return gid;
}

Gid link_local_gid(const Mac& mac) {
    Gid gid;
    gid.bytes[0] = 0xfe;
    gid.bytes[1] = 0x80;
    const auto low = eui64_bytes(mac);
    std::copy(low.begin(), low.end(), gid.bytes.begin() + 8);
    return gid;
}

uint64_t eui64(const Mac& mac) {
    uint64_t value = 0;
    for (const uint8_t byte : eui64_bytes(mac))
        value = value << 8U | byte;
    return value;
}

}  // namespace netns
