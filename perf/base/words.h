// SPDX-License-Identifier: Apache-2.0
// Words: an enumeration as the command line, the protocol and reports spell it.
#pragma once

#include <array>
#include <string_view>

#include "perf/base/names.h"

namespace perf {

struct WordList {
    std::string_view what;                    // the enumeration, in errors
    std::array<std::string_view, 8> words{};  // of its values, in their order; empty ones are none
};

// Specialized behind each enumeration that has words.
template <class E>
inline constexpr WordList kWords;

template <class E>
concept Worded = !kWords<E>.what.empty();

template <Worded E>
constexpr std::string_view name_of(E value) {
    return kWords<E>.words.at(static_cast<size_t>(value));
}

// Returns the place of a word; Code::BadInput that lists what is allowed.
Result<size_t> find_word(const WordList& words, std::string_view text);

template <Worded E>
Result<E> parse_word(std::string_view text) {
    return static_cast<E>(TRY(find_word(kWords<E>, text)));
}

}  // namespace perf
