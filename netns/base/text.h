// SPDX-License-Identifier: Apache-2.0
// The form of text that people read: plurals, lines that fit, and colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace base {

// The width of help texts, which every terminal has.
constexpr size_t kHelpColumns = 80;

// Returns "1 pool", "2 pools".
std::string number_of(size_t number, std::string_view noun);

// Returns the lines of a text, which must outlive them, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

// Breaks a text that begins at `column` at blanks, so that it fits into so many columns. Its other
// lines begin at that column, too, and none of them with an option's name. A word that is too long
// stays whole.
std::string wrap(std::string_view text, size_t column, size_t columns);

// Wraps the lines of CLI11's help that are too long: descriptions, which begin at column 30, and
// lines without indent. Others, such as examples, stay as they are.
std::string wrap_help(std::string_view text);

// Colours of a terminal (ECMA-48, SGR).
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
