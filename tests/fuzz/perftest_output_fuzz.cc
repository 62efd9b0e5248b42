// SPDX-License-Identifier: Apache-2.0
// What a program of perftest prints, on this side or at the server.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "perf/suites/perftest/output.h"
#include "tests/fuzz/expect.h"

FUZZ_TARGET(perftest_output) {
    using namespace perf;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
        for (const uint32_t bytes : {64U, 65536U}) {
            const perftest::Trial trial{.verb = Verb::Write, .mode = mode, .size = bytes};
            if (const auto result = perftest::parse_result(text, trial))
                fuzz::expect(*result > 0 && std::isfinite(*result), "a result is a measurement");
        }
    }
    if (const auto version = perftest::parse_version(text))
        fuzz::expect(!version->empty() && version->size() <= 20, "a version is short");
    const std::string line = perftest::last_line(text);
    fuzz::expect(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; }),
                 "a line can be printed");
}
