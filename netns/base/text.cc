// SPDX-License-Identifier: Apache-2.0
#include "netns/base/text.h"

#include <algorithm>
#include <optional>

namespace base {

namespace {
constexpr size_t kDescription = 30;  // as CLI11 has it

// Returns where a line of the help may go on below; nothing for a line that stays whole.
std::optional<size_t> column_of(std::string_view line) {
    if (!line.starts_with(' '))
        return 0;
    const bool describes =
        line.size() > kDescription && line[kDescription - 1] == ' ' && line[kDescription] != ' ';
    return describes ? std::optional<size_t>(kDescription) : std::nullopt;
}

// Returns the last blank at which the first `width` characters can end; npos if there is none.
size_t break_of(std::string_view text, size_t width) {
    for (size_t at = width; at > 0; --at) {
        if (text[at] == ' ' && text[at - 1] != ' ' && !text.substr(at + 1).starts_with('-'))
            return at;
    }
    return std::string_view::npos;
}
}  // namespace

std::string number_of(size_t number, std::string_view noun) {
    return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string wrap(std::string_view text, size_t column, size_t columns) {
    const size_t width = columns > column ? columns - column : 1;
    std::string out;
    while (text.size() > width) {
        size_t at = break_of(text, width);
        if (at == std::string_view::npos)
            at = text.find(' ', width);
        if (at == std::string_view::npos)
            break;
        out += std::string(text.substr(0, at)) + "\n" + std::string(column, ' ');
        text.remove_prefix(at + 1);
    }
    return out + std::string(text);
}

std::string wrap_help(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const size_t column = column_of(line).value_or(line.size());
        out += std::string(line.substr(0, column)) +
               wrap(line.substr(column), column, kHelpColumns) + "\n";
    }
    return out;
}

}  // namespace base
