// SPDX-License-Identifier: Apache-2.0
// Classes of ASCII characters, the same in every locale.
#pragma once

#include <algorithm>
#include <string_view>

namespace base {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

constexpr bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Returns whether each character is a letter, a digit or one of `others`.
constexpr bool is_made_of(std::string_view text, std::string_view others) {
    return std::ranges::all_of(
        text, [&](char c) { return is_alnum(c) || others.find(c) != std::string_view::npos; });
}

}  // namespace base
