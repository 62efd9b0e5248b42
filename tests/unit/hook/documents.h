// SPDX-License-Identifier: Apache-2.0
// What is written about the hook, for tests that hold it to the code.
#pragma once

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "netns/base/json.h"

namespace test {

inline std::string source_file(const std::string& path) {
    const std::ifstream file(SOURCE_DIR "/" + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline base::Json source_json(const std::string& path) {
    return base::parse_json(source_file(path), path).value();
}

// The matches of the first group, in order.
inline std::vector<std::string> find_all(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    std::vector<std::string> found;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
         it != std::sregex_iterator();
         ++it)
        found.push_back((*it)[1]);
    return found;
}

inline std::vector<std::string> members(const base::Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items())
        names.push_back(name);
    return names;
}

}  // namespace test
