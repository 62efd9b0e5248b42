// SPDX-License-Identifier: Apache-2.0
#include "hook/request/cpu_list.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "hook/request/annotations.h"

namespace hook {

namespace {
struct CpuRange {
    uint64_t first = 0;
    uint64_t last = 0;  // included
};

std::optional<CpuRange> parse_cpu_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = parse_number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
    if (!first || !last || *last < *first)
        return std::nullopt;
    return CpuRange{.first = *first, .last = *last};
}

// Empty if the list is malformed.
std::vector<CpuRange> parse_cpu_list(std::string_view text) {
    std::vector<CpuRange> ranges;
    for (;;) {
        const auto comma = text.find(',');
        const auto range = parse_cpu_range(text.substr(0, comma));
        if (!range)
            return {};
        ranges.push_back(*range);
        if (comma == std::string_view::npos)
            return ranges;
        text.remove_prefix(comma + 1);
    }
}
}  // namespace

bool share_a_cpu(std::string_view a, std::string_view b) {
    const auto ours = parse_cpu_list(a);
    const auto theirs = parse_cpu_list(b);
    return std::ranges::any_of(ours, [&](const CpuRange& mine) {
        return std::ranges::any_of(theirs, [&](const CpuRange& other) {
            return mine.first <= other.last && other.first <= mine.last;
        });
    });
}

}  // namespace hook
