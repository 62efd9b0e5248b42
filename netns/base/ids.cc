// SPDX-License-Identifier: Apache-2.0
#include "netns/base/ids.h"

#include <array>
#include <cstdint>
#include <cstdlib>

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
    static constexpr char kHex[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < b.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += kHex[b[i] >> 4U];
        text += kHex[b[i] & 15U];
    }
    return text;
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
