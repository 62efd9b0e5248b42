// SPDX-License-Identifier: Apache-2.0
#include "hook/request/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace hook {

namespace {
// No word of ours is longer: what lies beyond adds the same to every distance.
constexpr size_t kCompared = 64;

size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
        }
    }
    return row[b.size()];
}
}  // namespace

std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& words) {
    typed = typed.substr(0, kCompared);
    const auto closer = [&](std::string_view a, std::string_view b) {
        return distance(typed, a) < distance(typed, b);
    };
    const auto best = std::min_element(words.begin(), words.end(), closer);
    return best == words.end() ? std::string_view{} : *best;
}

}  // namespace hook
