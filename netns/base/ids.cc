// SPDX-License-Identifier: Apache-2.0
#include "netns/base/ids.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sha2.h>
#include <sys/random.h>

namespace base {

std::string sha256_hex(std::string_view text) {
    std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
    (void)::SHA256Data(reinterpret_cast<const uint8_t*>(text.data()), text.size(), hex.data());
    return {hex.data(), hex.size() - 1};
}

std::string random_uuid() {
    std::array<uint8_t, 16> b{};
    // Requests of up to 256 bytes are never short once the kernel's pool is ready, and that is
    // after early boot.
    if (::getrandom(b.data(), b.size(), 0) != static_cast<ssize_t>(b.size()))
        std::abort();
    b[6] = static_cast<uint8_t>((b[6] & 0x0fU) | 0x40U);
    b[8] = static_cast<uint8_t>((b[8] & 0x3fU) | 0x80U);
    const auto part = [&](size_t first, size_t behind) {
        return fmt::join(b.data() + first, b.data() + behind, "");
    };
    return fmt::format("{:02x}-{:02x}-{:02x}-{:02x}-{:02x}",
                       part(0, 4),
                       part(4, 6),
                       part(6, 8),
                       part(8, 10),
                       part(10, b.size()));
}

bool is_uuid(std::string_view text) {
    if (text.size() != 36)
        return false;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (dash ? text[i] != '-' : !hex)
            return false;
    }
    return true;
}

}  // namespace base
