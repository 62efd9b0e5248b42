// SPDX-License-Identifier: Apache-2.0
#include "tests/support/regex.h"

#include <map>
#include <regex>

namespace test {
namespace {
const std::regex& compiled(const std::string& pattern) {
    thread_local std::map<std::string, std::regex> known;
    return known.try_emplace(pattern, pattern).first->second;
}

std::vector<std::string> groups_of(const std::smatch& match) {
    return {match.begin(), match.end()};
}
}  // namespace

std::vector<std::string> match_text(const std::string& text, const std::string& pattern) {
    std::smatch match;
    (void)std::regex_match(text, match, compiled(pattern));
    return groups_of(match);
}

std::vector<std::string> find_match(const std::string& text, const std::string& pattern) {
    std::smatch match;
    (void)std::regex_search(text, match, compiled(pattern));
    return groups_of(match);
}

std::vector<std::string> find_all(const std::string& text, const std::string& pattern) {
    std::vector<std::string> found;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), compiled(pattern));
         it != std::sregex_iterator();
         ++it)
        found.push_back((*it)[1]);
    return found;
}

std::string replace_matches(const std::string& text,
                            const std::string& pattern,
                            const std::string& by) {
    return std::regex_replace(text, compiled(pattern), by);
}

}  // namespace test
