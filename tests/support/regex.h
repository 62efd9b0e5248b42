// SPDX-License-Identifier: Apache-2.0
// Regular expressions (ECMAScript's). Only regex.cc includes <regex>: each file that instantiates it
// takes seconds to compile.
#pragma once

#include <string>
#include <vector>

namespace test {

// Both return the match and its groups; empty if there is none. match_text() wants the whole text.
std::vector<std::string> match_text(const std::string& text, const std::string& pattern);
std::vector<std::string> find_match(const std::string& text, const std::string& pattern);

// Returns the first group of each match, in order.
std::vector<std::string> find_all(const std::string& text, const std::string& pattern);

// `by` may name groups: "$1".
std::string replace_matches(const std::string& text,
                            const std::string& pattern,
                            const std::string& by);

}  // namespace test
