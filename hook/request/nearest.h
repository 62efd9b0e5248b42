// SPDX-License-Identifier: Apache-2.0
// The nearest of some known words to a mistyped one, for error messages.
#pragma once

#include <string_view>
#include <vector>

namespace hook {

// By edit distance (insertions, deletions and substitutions); the first of equals; empty if there
// are no words.
std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& words);

}  // namespace hook
