// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perf/system/reading.h"

namespace perf::perftest {

using base::Code;
using base::Error;
using base::make_error;
using base::Result;

namespace {
using Tokens = std::vector<std::string_view>;

constexpr double kMib = 1U << 20U;

Error unknown(std::string_view what) {
    return make_error(Code::Unsupported, "perftest printed " + std::string(what))
        .advise("perftest 25.01 and its predecessors print something else: report it");
}

// Any number that can be a measurement.
Result<double> positive(std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    // Its times are cycles over a frequency that it measures, and on a busy machine finds to be 0.
    if (word == "inf" || word == "nan" || word == "-nan")
        return make_error(Code::Unavailable,
                          "perftest printed '" + std::string(word) +
                              "': it could not tell how fast this machine's clock runs")
            .advise("run it again while the machine has less to do");
    if (error != std::errc() || end != word.data() + word.size() || !(value >= 0 && value < 1e15))
        return unknown("'" + base::printable(word, 40) + "' where a number belongs");
    return value;
}

bool begins_with(const Tokens& words, std::span<const std::string_view> expected) {
    return words.size() >= expected.size() &&
           std::equal(expected.begin(), expected.end(), words.begin());
}

// In older versions MB means MiB as well.
bool is_bandwidth_head(const Tokens& words) {
    constexpr std::array<std::string_view, 7> kHead = {
        "#bytes", "#iterations", "BW", "peak[MiB/sec]", "BW", "average[MiB/sec]", "MsgRate[Mpps]"};
    auto old = kHead;
    old[3] = "peak[MB/sec]";
    old[5] = "average[MB/sec]";
    return begins_with(words, kHead) || begins_with(words, old);
}

bool is_latency_head(const Tokens& words) {
    constexpr std::array<std::string_view, 5> kHead = {
        "#bytes", "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]"};
    return begins_with(words, kHead);
}

// Bytes per second by the column whose last digit is worth less: the average has two decimals, too
// few for small messages; the rate has six, too few for large ones.
Result<double> bandwidth_of(const Tokens& row, uint32_t size) {
    const double average = TRY(positive(row[3]));
    const double rate = TRY(positive(row[4]));
    const double by_average = average * kMib;
    const double by_rate = rate * 1e6 * size;
    const double slack_average = 0.005 * kMib;
    const double slack_rate = 0.5 * size;
    if (std::abs(by_average - by_rate) > slack_average + slack_rate + 0.001 * by_average)
        return unknown(fmt::format(
            "{} MiB/s and {} Mpps of {} B, which contradict each other", average, rate, size));
    return slack_average < slack_rate ? by_average : by_rate;
}

Result<double> value_of(const Tokens& row, const Trial& trial) {
    if (row.size() < 5)
        return unknown("a result with too few columns");
    if (number_of(row[0]) != trial.size)
        return unknown(fmt::format(
            "a result for '{}' bytes instead of {}", base::printable(row[0], 20), trial.size));
    const double value = trial.mode == Mode::Bandwidth ? TRY(bandwidth_of(row, trial.size))
                                                       : TRY(positive(row[4])) * 1000;
    if (value == 0)
        return unknown("a result of zero: the run was too short");
    return value;
}
}  // namespace

Result<double> parse_result(std::string_view text, const Trial& trial) {
    if (text.size() > kMaxOutput)
        return unknown(fmt::format("more than {} bytes", kMaxOutput));
    const auto is_head = trial.mode == Mode::Bandwidth ? is_bandwidth_head : is_latency_head;
    const auto lines = split(text, '\n');
    std::optional<size_t> head;
    for (size_t i = 0; i < lines.size(); ++i) {
        const Tokens words = words_of(lines[i]);
        if (words.empty() || words.front() != "#bytes")
            continue;
        if (head)
            return unknown("two tables of results");
        if (!is_head(words))
            return unknown("columns that are not known: " + base::printable(lines[i]));
        head = i;
    }
    if (!head || *head + 1 >= lines.size() || words_of(lines[*head + 1]).empty())
        return unknown("no result");
    return value_of(words_of(lines[*head + 1]), trial);
}

Result<std::string> parse_version(std::string_view text) {
    if (text.size() > kMaxOutput)
        return unknown(fmt::format("more than {} bytes", kMaxOutput));
    const auto version = value_after(text, "Version:");
    const auto is_part = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
    if (!version || version->empty() || version->size() > 20 ||
        !std::ranges::all_of(*version, is_part))
        return unknown("no version");
    return *version;
}

std::string last_line(std::string_view text) {
    std::string last;
    for (const auto line : split(text, '\n')) {
        if (const auto words = words_of(line); !words.empty())
            last = base::printable(fmt::format("{}", fmt::join(words, " ")), 200);
    }
    return last;
}

}  // namespace perf::perftest
