// SPDX-License-Identifier: Apache-2.0
#include "perf/plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

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
    {Transport::Rc, "rc"}, {Transport::Uc, "uc"}, {Transport::Ud, "ud"}};
constexpr std::pair<Mode, std::string_view> kModes[] = {{Mode::Bandwidth, "bw"},
                                                        {Mode::Latency, "lat"}};
constexpr std::pair<PollMode, std::string_view> kPolls[] = {{PollMode::Auto, "auto"},
                                                            {PollMode::Spin, "spin"},
                                                            {PollMode::Yield, "yield"},
                                                            {PollMode::Event, "event"}};
constexpr std::pair<Verify, std::string_view> kVerifies[] = {{Verify::Off, "off"},
                                                             {Verify::Full, "full"}};

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

// Deep enough to keep a fast link busy, small enough for the 8 MiB that RLIMIT_MEMLOCK allows by
// default. rxe keeps at most 128 packets of a queue pair in flight, whatever the depth.
constexpr uint32_t kRingBytes = 2U << 20U;
constexpr uint32_t kBatchBytes = 256U << 10U;
constexpr uint32_t kAutoDepth = 128;
constexpr uint32_t kAutoBatch = 16;

uint32_t fit(uint32_t budget, uint32_t size, uint32_t low, uint32_t high) {
    return std::clamp(budget / size, low, high);
}

Point make_point(const Plan& plan, Verb verb, Mode mode, uint32_t size) {
    Point point{.verb = verb,
                .transport = plan.transport,
                .mode = mode,
                .size = size,
                .iterations = plan.iterations,
                .time_ms = plan.time_ms,
                .mtu = plan.mtu,
                .poll = plan.poll,
                .verify = plan.verify,
                .seed = plan.seed};
    if (mode == Mode::Latency) {
        point.slots = fit(kRingBytes, size, 1, 8);
        return point;
    }
    const uint32_t depth = plan.depth != 0 ? plan.depth : fit(2 * kRingBytes, size, 4, kAutoDepth);
    // A completion for each half of the depth at least, or the queue would run dry.
    const uint32_t batch = std::min(fit(kBatchBytes, size, 1, kAutoBatch), std::max(1U, depth / 2));
    point.batch = batch;
    // An explicit depth is kept exactly: then the batch gives way.
    while (depth % point.batch != 0)
        --point.batch;
    point.depth = depth;
    point.slots = std::min(depth, fit(kRingBytes, size, 1, depth));
    return point;
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

std::string_view name_of(PollMode poll) {
    return word_of<PollMode>(kPolls, poll);
}

std::string_view name_of(Verify verify) {
    return word_of<Verify>(kVerifies, verify);
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

Result<PollMode> parse_poll(std::string_view word) {
    return parse_word<PollMode>(kPolls, "poll mode", word);
}

Result<Verify> parse_verify(std::string_view word) {
    return parse_word<Verify>(kVerifies, "verify mode", word);
}

std::string describe(const Point& point) {
    const auto transport = point.transport == Transport::Rc
                               ? std::string()
                               : std::string(name_of(point.transport)) + " ";
    return fmt::format(
        "{} {}{} {} B", name_of(point.verb), transport, name_of(point.mode), point.size);
}

std::vector<Point> expand(const Plan& plan) {
    std::vector<Point> points;
    for (const Verb verb : plan.verbs) {
        for (const Mode mode : plan.modes) {
            if (is_atomic(verb)) {
                points.push_back(make_point(plan, verb, mode, kAtomicSize));
                continue;
            }
            for (const uint32_t size : plan.sizes)
                points.push_back(make_point(plan, verb, mode, size));
        }
    }
    return points;
}

Result<> check_limits(const Point& point) {
    const auto require = [](bool good, std::string_view what) -> Result<> {
        if (good)
            return {};
        return make_error(Code::BadInput, fmt::format("point: {} is out of range", what));
    };
    TRY(require(point.size >= 1 && point.size <= kMaxSize, "size"));
    TRY(require(!is_atomic(point.verb) || point.size == kAtomicSize, "size of an atomic"));
    if (!can_carry(point.transport, point.verb))
        return make_error(
            Code::BadInput,
            fmt::format(
                "point: transport {} has no {}", name_of(point.transport), name_of(point.verb)));
    TRY(require(point.depth >= 1 && point.depth <= kMaxDepth, "depth"));
    TRY(require(point.batch >= 1 && point.depth % point.batch == 0, "batch"));
    const bool latency = point.mode == Mode::Latency;
    TRY(require(!latency || point.depth == 1, "depth of a latency point"));
    TRY(require(point.slots >= 1 && point.slots <= (latency ? 8 : point.depth), "slots"));
    TRY(require(uint64_t{point.slots} * point.size <= kMaxSize, "slots * size"));
    TRY(require(point.iterations <= kMaxIterations, "iterations"));
    TRY(require(point.time_ms <= kMaxTimeMs, "time_ms"));
    TRY(require((point.iterations == 0) != (point.time_ms == 0), "iterations and time_ms"));
    constexpr uint32_t kMtus[] = {0, 256, 512, 1024, 2048, 4096};
    return require(std::ranges::find(kMtus, point.mtu) != std::end(kMtus), "mtu");
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

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos)
            return parts;
        text.remove_prefix(at + 1);
    }
}

}  // namespace perf
