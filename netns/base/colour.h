// SPDX-License-Identifier: Apache-2.0
// Colours of a terminal (ECMA-48, SGR), for programs that print for people.
#pragma once

#include <string>
#include <string_view>

namespace base {

enum class Colour { Plain, Bold, Good, Doubtful, Bad };

// Returns the text in the colour; unchanged if colours are off or the colour is plain.
inline std::string paint(std::string_view text, Colour colour, bool on) {
    if (!on || colour == Colour::Plain || text.empty())
        return std::string(text);
    const char* code = colour == Colour::Bold       ? "1"
                       : colour == Colour::Good     ? "32"
                       : colour == Colour::Doubtful ? "33"
                                                    : "31";
    return std::string("\033[") + code + "m" + std::string(text) + "\033[0m";
}

}  // namespace base
