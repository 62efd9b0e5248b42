// SPDX-License-Identifier: Apache-2.0
// Lays out answers for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "netns/base/json_fwd.h"
#include "netns/base/text.h"

namespace hook::ctl {

// The paper that is printed on.
struct Page {
    size_t columns = 100;
    size_t rows = 0;  // 0: as many as there are
    bool colours = false;
    bool is_terminal = false;
};

// Returns whether the environment allows colours on a terminal: NO_COLOR is unset or empty
// (no-color.org), and TERM is neither unset nor "dumb".
bool wants_colours();
// Returns the page of standard output, as large as its terminal.
Page page_of_output(bool colours);

struct Cell {
    Cell(std::string shown, base::Colour in = base::Colour::Plain)
        : text(std::move(shown)), colour(in) {}  // NOLINT(google-explicit-constructor)

    Cell(const char* shown) : text(shown) {}  // NOLINT(google-explicit-constructor)

    std::string text;
    base::Colour colour = base::Colour::Plain;
};

using Row = std::vector<Cell>;
using Rows = std::vector<Row>;

// Makes columns as wide as their widest cell. The first row is the head. With table_within() lines
// fit into the page's columns. A cell of the last column that has no room goes to a line of its own,
// at the page's right edge. Cells of the other columns are cut ("..."), the widest column's first,
// if that leaves no room for the last column's head.
std::string table(const Rows& rows, const Page& page = {});
std::string table_within(Rows rows, const Page& page);

// Returns the head of a part of a page, a line of its own.
std::string heading(const std::string& text, const Page& page);
// Lays out names and values: "  device      rxe0". A value without a name goes below the one
// before.
std::string pairs(const std::vector<std::pair<std::string, std::string>>& values);

// Returns the colour of a state: "live", "free", "dead".
base::Colour colour_of(const std::string& state);

// Returns a span as "3 min", for seconds since 1970; empty for 0. age() adds " ago".
std::string span(int64_t since, int64_t now);
std::string age(int64_t since, int64_t now);

// Returns a member that is a string; empty if there is none.
std::string string_at(const base::Json& object, const char* member);

}  // namespace hook::ctl
