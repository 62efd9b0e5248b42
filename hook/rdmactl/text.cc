// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/text.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netns/base/json.h"

namespace hook::ctl {

using base::Colour;
using base::Json;

namespace {
constexpr std::string_view kGap = "  ";
constexpr std::string_view kCut = "...";
constexpr size_t kNarrowest = 8;  // of a column whose cells are cut

std::vector<size_t> widths_of(const Rows& rows) {
    std::vector<size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].text.size());
    }
    return widths;
}

// Returns the row as a line. Blanks are added only before another cell.
std::string line_of(const Row& row,
                    const std::vector<size_t>& widths,
                    bool head,
                    const Page& page) {
    std::string line;
    size_t blanks = 0;
    for (size_t i = 0; i < row.size(); ++i) {
        if (!row[i].text.empty()) {
            line.append(blanks, ' ');
            line += base::paint(row[i].text, head ? Colour::Bold : row[i].colour, page.colours);
            blanks = 0;
        }
        blanks += widths[i] - std::min(widths[i], row[i].text.size()) + kGap.size();
    }
    return line + "\n";
}

void cut(Cell& cell, size_t width) {
    if (cell.text.size() > width)
        cell.text = cell.text.substr(0, width - kCut.size()).append(kCut);
}
}  // namespace

bool wants_colours() {
    const char* off = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
    const char* kind = std::getenv("TERM");     // NOLINT(concurrency-mt-unsafe): one thread
    return (off == nullptr || *off == '\0') && kind != nullptr && *kind != '\0' &&
           std::string_view(kind) != "dumb";
}

Page page_of_output(bool colours) {
    Page page;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)  // ENOTTY
        return page;
    page.is_terminal = true;
    page.colours = colours;
    page.rows = size.ws_row;
    if (size.ws_col != 0)  // a serial line does not know
        page.columns = size.ws_col;
    return page;
}

std::string table(const Rows& rows, const Page& page) {
    const auto widths = widths_of(rows);
    std::string text;
    for (const Row& row : rows)
        text += line_of(row, widths, &row == &rows.front(), page);
    return text;
}

std::string table_within(Rows rows, const Page& page) {
    auto widths = widths_of(rows);
    if (widths.empty())
        return {};
    const size_t last = widths.size() - 1;
    const size_t head = rows.front().size() > last ? rows.front()[last].text.size() : 0;
    widths[last] = std::max(std::min(widths[last], kNarrowest), head);
    const auto whole = [&] {
        return std::accumulate(widths.begin(), widths.end(), kGap.size() * last);
    };
    while (last > 0 && whole() > page.columns) {
        const auto widest = std::max_element(widths.begin(), widths.end() - 1);
        if (*widest <= kNarrowest)
            break;
        --*widest;
    }
    const size_t others = whole() - widths[last];
    const size_t room = std::max(widths[last], page.columns - std::min(page.columns, others));
    std::string text;
    for (Row& row : rows) {
        for (size_t i = 0; i < std::min(row.size(), last); ++i)
            cut(row[i], widths[i]);
        Cell below{""};
        if (row.size() > last && row[last].text.size() > room)
            below = std::exchange(row[last], Cell{""});
        if (std::ranges::any_of(row, [](const Cell& cell) { return !cell.text.empty(); }))
            text += line_of(row, widths, &row == &rows.front(), page);
        if (below.text.empty())
            continue;
        cut(below, std::max(page.columns, kNarrowest));
        text.append(page.columns - std::min(page.columns, below.text.size()), ' ');
        text += base::paint(below.text, below.colour, page.colours) + "\n";
    }
    return text;
}

std::string heading(const std::string& text, const Page& page) {
    return base::paint(text, Colour::Bold, page.colours) + "\n";
}

std::string pairs(const std::vector<std::pair<std::string, std::string>>& values) {
    size_t width = 0;
    for (const auto& [name, value] : values)
        width = std::max(width, name.size());
    std::string text;
    for (const auto& [name, value] : values)
        text += fmt::format("  {:<{}}  {}\n", name, width, value);
    return text;
}

Colour colour_of(const std::string& state) {
    for (const char* good : {"live", "free", "attached", "allowed", "ok"}) {
        if (state == good)
            return Colour::Good;
    }
    for (const char* bad : {"dead", "unreadable", "denied", "fail"}) {
        if (state == bad)
            return Colour::Bad;
    }
    return Colour::Doubtful;
}

std::string span(int64_t since, int64_t now) {
    if (since <= 0)
        return {};
    const int64_t seconds = std::max<int64_t>(now - since, 0);
    constexpr int64_t kMinute = 60;
    constexpr int64_t kHour = 60 * kMinute;
    constexpr int64_t kDay = 24 * kHour;
    if (seconds < 2 * kMinute)
        return fmt::format("{} s", seconds);
    if (seconds < 2 * kHour)
        return fmt::format("{} min", seconds / kMinute);
    if (seconds < 2 * kDay)
        return fmt::format("{} h", seconds / kHour);
    return fmt::format("{} days", seconds / kDay);
}

std::string age(int64_t since, int64_t now) {
    const std::string text = span(since, now);
    return text.empty() ? text : text + " ago";
}

std::string string_at(const Json& object, const char* member) {
    const auto text = base::required<std::string>(object, member);
    return text ? *text : std::string();
}

}  // namespace hook::ctl
