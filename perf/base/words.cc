// SPDX-License-Identifier: Apache-2.0
#include "perf/base/words.h"

namespace perf {

Result<size_t> find_word(const WordList& words, std::string_view text) {
    std::string allowed;
    for (size_t i = 0; i < words.words.size() && !words.words[i].empty(); ++i) {
        if (words.words[i] == text)
            return i;
        allowed += (allowed.empty() ? "" : ", ") + std::string(words.words[i]);
    }
    return make_error(
        Code::BadInput, "{} '{}' is not known (allowed: {})", words.what, printable(text), allowed);
}

}  // namespace perf
