// SPDX-License-Identifier: Apache-2.0
// The words of plans: poll modes, sizes, times.
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "perf/protocol/plan.h"

namespace perf {

namespace {
std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

unsigned take_unit(std::string_view& text) {
    if (text.ends_with("iB"))
        text.remove_suffix(2);
    constexpr std::pair<char, unsigned> kUnits[] = {{'K', 10}, {'M', 20}, {'G', 30}};
    for (const auto& [letter, shift] : kUnits) {
        if (text.ends_with(letter) || text.ends_with(static_cast<char>(letter + ('a' - 'A')))) {
            text.remove_suffix(1);
            return shift;
        }
    }
    return 0;
}

// "FROM..TO:*N" or "FROM..TO:+N"; without a step: *2.
Result<std::vector<uint32_t>> parse_range(std::string_view text, size_t dots) {
    const auto bad = [&] {
        return make_error(
            Code::BadInput,
            fmt::format("size range '{}' is not FROM..TO:*N or FROM..TO:+N", printable(text)));
    };
    const uint32_t from = TRY(parse_size(text.substr(0, dots)));
    const auto rest = split(text.substr(dots + 2), ':');
    const uint32_t to = TRY(parse_size(rest[0]));
    const std::string_view step = rest.size() > 1 ? rest[1] : "*2";
    if (rest.size() > 2 || step.size() < 2 || (step[0] != '*' && step[0] != '+') || to < from)
        return bad();
    const uint32_t amount = TRY(parse_size(step.substr(1)));
    if (step[0] == '*' && amount < 2)
        return bad();
    std::vector<uint32_t> sizes;
    for (uint64_t size = from; size <= to && sizes.size() <= kMaxSizes;
         size = step[0] == '*' ? size * amount : size + amount)
        sizes.push_back(static_cast<uint32_t>(size));
    return sizes;
}
}  // namespace

std::string name_of(const Poll& poll) {
    const std::string mode(name_of(poll.mode));
    return poll.mode == PollMode::Hybrid ? fmt::format("{}:{}us", mode, poll.spin_us) : mode;
}

Result<Poll> parse_poll(std::string_view text) {
    const size_t colon = text.find(':');
    const auto mode = TRY(parse_word<PollMode>(text.substr(0, colon)));
    if (mode != PollMode::Hybrid && colon == std::string_view::npos)
        return Poll{.mode = mode};
    uint64_t spin_us = kDefaultSpinUs;
    if (colon != std::string_view::npos) {
        std::string_view number = text.substr(colon + 1);
        const bool unit = number.ends_with("us");
        number.remove_suffix(unit ? 2 : 0);
        spin_us = unit ? number_of(number).value_or(0) : 0;
    }
    if (mode != PollMode::Hybrid || spin_us == 0 || spin_us > kMaxSpinUs)
        return make_error(Code::BadInput,
                          fmt::format("poll mode '{}' is not hybrid:N with N from 1us to {}us",
                                      printable(text),
                                      kMaxSpinUs));
    return Poll{.mode = mode, .spin_us = static_cast<uint32_t>(spin_us)};
}

std::string name_of(const std::optional<Load>& load) {
    return load ? fmt::format("{}:{}", name_of(load->verb), load->size) : "none";
}

Result<std::optional<Load>> parse_load(std::string_view text) {
    if (text == "none")
        return std::optional<Load>();
    const auto parts = split(text, ':');
    if (parts.size() != 2)
        return make_error(
            Code::BadInput,
            fmt::format("load '{}' is not VERB:SIZE, as write:64K, or none", printable(text)));
    const Verb verb = TRY(parse_word<Verb>(parts[0]));
    const uint32_t size = TRY(parse_size(parts[1]));
    return std::optional(Load{.verb = verb, .size = is_atomic(verb) ? kAtomicSize : size});
}

Result<uint32_t> parse_size(std::string_view text) {
    std::string_view number = text;
    const unsigned shift = take_unit(number);
    const auto value = number_of(number);
    if (!value || *value == 0 || *value > (uint64_t{kMaxSize} >> shift))
        return make_error(Code::BadInput,
                          fmt::format("size '{}' is not a number of bytes from 1 to {} (K, M, G)",
                                      printable(text),
                                      kMaxSize));
    return static_cast<uint32_t>(*value << shift);
}

Result<std::vector<uint32_t>> parse_sizes(std::string_view text) {
    std::vector<uint32_t> sizes;
    for (const std::string_view part : split(text, ',')) {
        if (const size_t dots = part.find(".."); dots != std::string_view::npos) {
            const auto range = TRY(parse_range(part, dots));
            sizes.insert(sizes.end(), range.begin(), range.end());
        } else {
            sizes.push_back(TRY(parse_size(part)));
        }
        if (sizes.size() > kMaxSizes)
            return make_error(Code::BadInput,
                              fmt::format("more than {} sizes in one list", kMaxSizes));
    }
    return sizes;
}

Result<uint32_t> parse_time_ms(std::string_view text) {
    std::string_view number = text;
    double scale = 1000;
    if (number.ends_with("ms")) {
        number.remove_suffix(2);
        scale = 1;
    } else if (number.ends_with('s')) {
        number.remove_suffix(1);
    }
    const auto value = parse_number(number);
    const double ms = value.value_or(0) * scale;
    if (!value || ms < 1 || ms > kMaxTimeMs)
        return make_error(
            Code::BadInput,
            fmt::format("time '{}' is not a time from 1ms to 3600s", printable(text)));
    return static_cast<uint32_t>(ms);
}

Result<uint32_t> parse_point_time(std::string_view text) {
    return text == "forever" ? kForever : parse_time_ms(text);
}

}  // namespace perf
