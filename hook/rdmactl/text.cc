// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace hook::ctl {

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i)
            line += fmt::format("{:<{}}  ", row[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string age(int64_t since, int64_t now) {
    if (since <= 0)
        return {};
    const int64_t seconds = std::max<int64_t>(now - since, 0);
    constexpr int64_t kMinute = 60;
    constexpr int64_t kHour = 60 * kMinute;
    constexpr int64_t kDay = 24 * kHour;
    if (seconds < 2 * kMinute)
        return fmt::format("{} s ago", seconds);
    if (seconds < 2 * kHour)
        return fmt::format("{} min ago", seconds / kMinute);
    if (seconds < 2 * kDay)
        return fmt::format("{} h ago", seconds / kHour);
    return fmt::format("{} days ago", seconds / kDay);
}

}  // namespace hook::ctl
