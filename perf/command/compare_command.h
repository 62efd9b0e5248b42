// SPDX-License-Identifier: Apache-2.0
// The command line of `compare`, and what it does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/report/compare.h"

namespace CLI {
class App;
}

namespace perf {

struct CompareOptions {
    std::string a;
    std::string b;
    std::vector<std::string> allow;  // settings that may differ, by the names of compare.h
    std::string json;                // file, "-" for standard output, empty: none
    std::optional<Expect> expect;
};

// The words as they are given; parse_compare() makes values of them.
struct CompareWords {
    CompareOptions options;  // but for these:
    std::string allow;
    std::string expect;
};

// `words` must live until the command line is parsed.
void add_compare_options(CLI::App& app, CompareWords& words);

// Code::Usage that names option, value and what is allowed.
Result<CompareOptions> parse_compare(const CompareWords& words);

}  // namespace perf
