// SPDX-License-Identifier: Apache-2.0
// The words of plans: names of what they are made of, sizes, times.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "perf/protocol/plan.h"

namespace perf {

using base::Code;
using base::make_error;
using base::Result;

namespace {
template <class E>
using Entries = std::span<const std::pair<E, std::string_view>>;

constexpr std::pair<Verb, std::string_view> kVerbs[] = {{Verb::Write, "write"},
                                                        {Verb::Read, "read"},
                                                        {Verb::Send, "send"},
                                                        {Verb::WriteImm, "write_imm"},
                                                        {Verb::SendImm, "send_imm"},
                                                        {Verb::FetchAdd, "fetch_add"},
                                                        {Verb::CompareSwap, "cmp_swap"}};
constexpr std::pair<Transport, std::string_view> kTransports[] = {
    {Transport::Rc, "rc"}, {Transport::Uc, "uc"}, {Transport::Ud, "ud"}, {Transport::Tcp, "tcp"}};
constexpr std::pair<Mode, std::string_view> kModes[] = {{Mode::Bandwidth, "bw"},
                                                        {Mode::Latency, "lat"}};
constexpr std::pair<PollMode, std::string_view> kPolls[] = {{PollMode::Auto, "auto"},
                                                            {PollMode::Spin, "spin"},
                                                            {PollMode::Yield, "yield"},
                                                            {PollMode::Event, "event"},
                                                            {PollMode::Hybrid, "hybrid"}};
constexpr std::pair<Verify, std::string_view> kVerifies[] = {
    {Verify::Off, "off"}, {Verify::Edges, "edges"}, {Verify::Full, "full"}};
constexpr std::pair<Direction, std::string_view> kDirections[] = {
    {Direction::Forward, "forward"}, {Direction::Reverse, "reverse"}, {Direction::Both, "both"}};

constexpr std::pair<Connect, std::string_view> kConnects[] = {{Connect::Exchange, "exchange"},
                                                              {Connect::Cm, "cm"}};

constexpr std::pair<Hosts, std::string_view> kHosts[] = {{Hosts::All, "all"},
                                                         {Hosts::Ramp, "ramp"}};

constexpr std::pair<Ordering, std::string_view> kOrderings[] = {{Ordering::Relaxed, "relaxed"},
                                                                {Ordering::Strict, "strict"}};

template <class E>
std::string_view word_of(Entries<E> words, E value) {
    for (const auto& [candidate, word] : words) {
        if (candidate == value)
            return word;
    }
    return "?";
}

template <class E>
Result<E> parse_word(Entries<E> words, std::string_view what, std::string_view text) {
    std::string allowed;
    for (const auto& [value, word] : words) {
        if (word == text)
            return value;
        allowed += (allowed.empty() ? "" : ", ") + std::string(word);
    }
    return make_error(
        Code::BadInput,
        fmt::format("{} '{}' is not known (allowed: {})", what, base::printable(text), allowed));
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

std::optional<uint64_t> parse_whole(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
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
        return make_error(Code::BadInput,
                          fmt::format("size range '{}' is not FROM..TO:*N or FROM..TO:+N",
                                      base::printable(text)));
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

std::string_view name_of(Verb verb) {
    return word_of<Verb>(kVerbs, verb);
}

std::string_view name_of(Mode mode) {
    return word_of<Mode>(kModes, mode);
}

std::string_view name_of(Direction direction) {
    return word_of<Direction>(kDirections, direction);
}

std::string_view name_of(Connect connect) {
    return word_of<Connect>(kConnects, connect);
}

std::string_view name_of(PollMode mode) {
    return word_of<PollMode>(kPolls, mode);
}

std::string name_of(const Poll& poll) {
    const std::string mode(name_of(poll.mode));
    return poll.mode == PollMode::Hybrid ? fmt::format("{}:{}us", mode, poll.spin_us) : mode;
}

std::string_view name_of(Hosts hosts) {
    return word_of<Hosts>(kHosts, hosts);
}

std::string_view name_of(Verify verify) {
    return word_of<Verify>(kVerifies, verify);
}

std::string_view name_of(Ordering ordering) {
    return word_of<Ordering>(kOrderings, ordering);
}

std::string_view name_of(Transport transport) {
    return word_of<Transport>(kTransports, transport);
}

Result<Transport> parse_transport(std::string_view word) {
    return parse_word<Transport>(kTransports, "transport", word);
}

Result<Verb> parse_verb(std::string_view word) {
    return parse_word<Verb>(kVerbs, "verb", word);
}

Result<Mode> parse_mode(std::string_view word) {
    return parse_word<Mode>(kModes, "mode", word);
}

Result<Poll> parse_poll(std::string_view text) {
    const size_t colon = text.find(':');
    const auto mode = TRY(parse_word<PollMode>(kPolls, "poll mode", text.substr(0, colon)));
    if (mode != PollMode::Hybrid && colon == std::string_view::npos)
        return Poll{.mode = mode};
    uint64_t spin_us = kDefaultSpinUs;
    if (colon != std::string_view::npos) {
        std::string_view number = text.substr(colon + 1);
        const bool unit = number.ends_with("us");
        number.remove_suffix(unit ? 2 : 0);
        spin_us = unit ? parse_whole(number).value_or(0) : 0;
    }
    if (mode != PollMode::Hybrid || spin_us == 0 || spin_us > kMaxSpinUs)
        return make_error(Code::BadInput,
                          fmt::format("poll mode '{}' is not hybrid:N with N from 1us to {}us",
                                      base::printable(text),
                                      kMaxSpinUs));
    return Poll{.mode = mode, .spin_us = static_cast<uint32_t>(spin_us)};
}

Result<Connect> parse_connect(std::string_view word) {
    return parse_word<Connect>(kConnects, "way to connect", word);
}

Result<Hosts> parse_hosts(std::string_view word) {
    return parse_word<Hosts>(kHosts, "choice of hosts", word);
}

Result<Direction> parse_direction(std::string_view word) {
    return parse_word<Direction>(kDirections, "direction", word);
}

Result<Verify> parse_verify(std::string_view word) {
    return parse_word<Verify>(kVerifies, "verify mode", word);
}

Result<Ordering> parse_ordering(std::string_view word) {
    return parse_word<Ordering>(kOrderings, "ordering", word);
}

Result<uint32_t> parse_size(std::string_view text) {
    std::string_view number = text;
    const unsigned shift = take_unit(number);
    const auto value = parse_whole(number);
    if (!value || *value == 0 || *value > (uint64_t{kMaxSize} >> shift))
        return make_error(Code::BadInput,
                          fmt::format("size '{}' is not a number of bytes from 1 to {} (K, M, G)",
                                      base::printable(text),
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
            fmt::format("time '{}' is not a time from 1ms to 3600s", base::printable(text)));
    return static_cast<uint32_t>(ms);
}

}  // namespace perf
