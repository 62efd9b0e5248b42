// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/plan.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>
#include <sys/random.h>

namespace perf {

namespace {
// Deep enough to keep a fast link busy, small enough for the 8 MiB that RLIMIT_MEMLOCK allows by
// default. rxe keeps at most 128 packets of a queue pair in flight, whatever the depth.
constexpr uint32_t kAutoBytes = 4U << 20U;  // in flight
// Applications use their buffers again, and perftest has one for each queue pair: small enough for
// the cache of a processor, with several messages in it, so that one in a wrong place is seen.
constexpr uint32_t kAutoRing = 256U << 10U;
constexpr uint32_t kBatchBytes = 256U << 10U;
constexpr uint32_t kAutoDepth = 128;
constexpr uint32_t kAutoBatch = 16;

uint32_t fit(uint32_t budget, uint32_t size, uint32_t low, uint32_t high) {
    return std::clamp(budget / size, low, high);
}

// An open loop may have several messages under way; what is due beyond that waits, and its waiting
// counts.
constexpr uint32_t kOpenLoopDepth = 32;

void shape_latency(Point& point, const Plan& plan, uint32_t ring) {
    point.depth = point.rate != 0 ? kOpenLoopDepth : 1;
    point.batch = 1;
    point.slots = fit(ring, point.size, 1, point.rate != 0 ? kOpenLoopDepth : 8);
    point.qps = 1;
    point.threads = 1;
    point.direction = Direction::Forward;
    point.load = plan.load;
}

void shape_bandwidth(Point& point, uint32_t ring) {
    point.rate = 0;
    if (point.depth == 0)
        point.depth = fit(kAutoBytes, point.size, 4, kAutoDepth);
    if (point.batch == 0) {
        // A completion for each half of the depth at least, or the queue would run dry.
        point.batch =
            std::min(fit(kBatchBytes, point.size, 1, kAutoBatch), std::max(1U, point.depth / 2));
        // An explicit depth is kept exactly: then the batch gives way.
        while (point.depth % point.batch != 0)
            --point.batch;
    }
    // The queue pairs share the ring: locked memory is scarce, and so is a cache.
    point.slots = fit(ring / point.qps, point.size, 1, point.depth);
}

// Completes a point that has what differs from point to point of a plan; depth and batch may be 0.
Point make_point(const Plan& plan, Point point) {
    const bool has_device = needs_device(point.transport);
    point.connect = has_device ? plan.connect : Connect::Exchange;
    point.threads = std::min(plan.threads, point.qps);
    point.direction = plan.direction;
    point.rate = plan.rate;
    point.iterations = plan.iterations;
    point.time_ms = plan.time_ms;
    point.mtu = plan.mtu;
    point.verify = plan.verify;
    point.seed = plan.seed;
    if (has_device) {
        point.marks = plan.marks;
        point.reads = fetches(point.verb) ? plan.reads : 0;
        point.inline_bytes = plan.inline_bytes;
    }
    if (has_device && point.mode == Mode::Bandwidth) {
        // EFA posts nothing without a completion.
        const bool each = point.transport == Transport::Srd && plan.signal == 0;
        point.signal = each ? 1 : plan.signal;
    }
    const uint32_t ring = plan.ring_bytes != 0 ? plan.ring_bytes : kAutoRing;
    if (point.mode == Mode::Latency)
        shape_latency(point, plan, ring);
    else
        shape_bandwidth(point, ring);
    return point;
}

std::vector<Transport> carriers_of(const Plan& plan, Verb verb) {
    std::vector<Transport> carriers = plan.transports;
    std::erase_if(carriers, [&](Transport transport) { return !can_carry(transport, verb); });
    if (carriers.empty() && !plan.transports.empty())
        carriers.push_back(plan.transports.front());
    return carriers;
}

// Adds a point for every combination of what a bandwidth point can vary in; latency varies in poll
// mode, transport and ordering only.
void add_points(const Plan& plan, Verb verb, Mode mode, uint32_t size, std::vector<Point>& points) {
    const auto carriers = carriers_of(plan, verb);
    const auto add_each = [&](uint32_t qps, uint32_t depth, uint32_t batch) {
        for (const Poll& poll : plan.polls) {
            for (const Transport transport : carriers) {
                // TCP has no device whose writes could pass each other: it has one ordering.
                const size_t most = needs_device(transport) ? plan.orderings.size() : 1;
                for (const Ordering ordering : std::span(plan.orderings).first(most))
                    points.push_back(make_point(plan,
                                                {.verb = verb,
                                                 .transport = transport,
                                                 .mode = mode,
                                                 .size = size,
                                                 .qps = qps,
                                                 .depth = depth,
                                                 .batch = batch,
                                                 .poll = poll,
                                                 .ordering = ordering}));
            }
        }
    };
    if (mode == Mode::Latency) {
        add_each(1, 0, 0);
        return;
    }
    for (const uint32_t qps : plan.qps) {
        for (const uint32_t depth : plan.depths) {
            for (const uint32_t batch : plan.batches)
                add_each(qps, depth, batch);
        }
    }
}
}  // namespace

std::string describe(const Point& point) {
    std::string text(name_of(point.verb));
    const auto add = [&](bool worth_it, const auto& word) {
        if (worth_it)
            text += fmt::format(" {}", word);
    };
    add(point.transport != Transport::Rc, name_of(point.transport));
    text += fmt::format(" {} {} B", name_of(point.mode), point.size);
    add(point.qps != 1, fmt::format("{} QPs", point.qps));
    add(point.direction != Direction::Forward, name_of(point.direction));
    add(point.rate != 0, fmt::format("at {}/s", point.rate));
    add(point.load.has_value(), "beside " + name_of(point.load));
    add(point.ordering != Ordering::Relaxed, name_of(point.ordering));
    return text;
}

std::vector<Point> expand(const Plan& plan) {
    std::vector<Point> points;
    for (const Verb verb : plan.verbs) {
        for (const Mode mode : plan.modes) {
            const auto sizes = is_atomic(verb) ? std::vector{kAtomicSize} : plan.sizes;
            for (const uint32_t size : sizes)
                add_points(plan, verb, mode, size, points);
        }
    }
    return points;
}

Point load_point(const Point& point) {
    const Plan plan{.verbs = {point.load->verb},
                    .modes = {Mode::Bandwidth},
                    .sizes = {point.load->size},
                    .time_ms = kForever,
                    .polls = {point.poll},
                    .mtu = point.mtu,
                    .verify = point.verify == Verify::Off ? Verify::Off : Verify::Edges,
                    .transports = {point.transport},
                    .connect = point.connect,
                    .orderings = {point.ordering},
                    .marks = point.marks,
                    .seed = point.seed};
    return expand(plan).front();
}

uint64_t random_seed() {
    uint64_t seed = 0;
    if (::getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = static_cast<uint64_t>(Deadline::Clock::now().time_since_epoch().count());
    constexpr uint64_t kExact = (uint64_t{1} << 53U) - 1;
    return seed & kExact;
}

Poll resolve_poll(const Point& point, const PollPlace& place) {
    if (point.poll.mode != PollMode::Auto)
        return point.poll;
    // Over TCP programs sleep. A software device needs the core that a spinning loop would hold. An
    // adapter does not, and a system call after each empty poll would be a good part of its
    // latency; dearer in a container, whose system calls are filtered.
    if (!needs_device(point.transport))
        return {.mode = PollMode::Event};
    const bool has_room = place.processors >= std::max(point.threads, 2U);
    return {.mode = !place.software && has_room ? PollMode::Spin : PollMode::Yield};
}

bool needs_device(const Plan& plan) {
    return std::ranges::any_of(plan.transports, [](Transport t) { return needs_device(t); });
}

uint64_t warmup_of(const Point& point, uint64_t iterations) {
    return std::min<uint64_t>(iterations / 10, 2UL * point.depth);
}

namespace {
Result<> require(bool good, std::string_view what) {
    if (good)
        return {};
    return make_error(Code::BadInput, "point: {} is out of range", what);
}

Result<> check_latency_limits(const Point& point) {
    const bool open = point.rate != 0;
    TRY(require(point.depth >= 1 && point.depth <= (open ? kOpenLoopDepth : 1),
                "depth of a latency point"));
    TRY(require(point.slots <= (open ? kOpenLoopDepth : 8), "slots"));
    TRY(require(point.rate <= kMaxRate, "rate"));
    TRY(require(!open || is_ordered(point.transport), "rate of a transport without order"));
    TRY(require(point.qps == 1 && point.batch == 1, "queue pairs or batch of a latency point"));
    TRY(require(point.signal == 0, "signal of a latency point"));
    return require(point.direction == Direction::Forward, "direction of a latency point");
}

Result<> check_bandwidth_limits(const Point& point) {
    TRY(require(point.qps >= 1 && point.qps <= kMaxQps, "qps"));
    TRY(require(point.slots <= point.depth, "slots"));
    TRY(require(point.rate == 0, "rate of a bandwidth point"));
    const uint32_t signal = signal_of(point);
    TRY(require(
        point.depth % signal == 0 && (signal % point.batch == 0 || point.batch % signal == 0),
        "signal (it must divide the depth, and be a multiple or a part of the batch)"));
    TRY(require(point.transport != Transport::Srd || signal == 1, "signal of srd"));
    TRY(require(point.iterations == 0 || point.iterations >= point.qps,
                "iterations below the number of queue pairs"));
    if (point.direction == Direction::Both && is_atomic(point.verb))
        return make_error(Code::BadInput, "point: atomic operations go in one direction at a time");
    return {};
}
}  // namespace

Result<> check_limits(const Point& point) {
    TRY(require(point.size >= 1 && point.size <= kMaxSize, "size"));
    TRY(require(!is_atomic(point.verb) || point.size == kAtomicSize, "size of an atomic"));
    if (!can_carry(point.transport, point.verb))
        return make_error(Code::BadInput,
                          "point: transport {} has no {}",
                          name_of(point.transport),
                          name_of(point.verb));
    if (point.connect == Connect::Cm && point.transport != Transport::Rc)
        return make_error(Code::BadInput, "point: rdma_cm connects rc only");
    TRY(require(point.depth >= 1 && point.depth <= kMaxDepth, "depth"));
    TRY(require(point.batch >= 1 && point.depth % point.batch == 0,
                "batch (it must divide the depth)"));
    TRY(point.mode == Mode::Latency ? check_latency_limits(point) : check_bandwidth_limits(point));
    TRY(require(point.threads >= 1 && point.threads <= std::min(kMaxThreads, point.qps),
                "threads"));
    TRY(require(point.marks.traffic_class <= 0xff, "traffic class"));
    TRY(require(point.marks.service_level <= 0xf, "service level"));
    TRY(require(point.marks.flow_label <= 0xfffff, "flow label"));
    TRY(require(point.marks.pkey_index <= 0xffff, "pkey index"));
    if (point.connect == Connect::Cm && point.marks.pkey_index != 0)
        return make_error(Code::BadInput, "point: rdma_cm chooses the partition by the address");
    TRY(require(point.reads <= kMaxReads, "reads"));
    TRY(require(point.transport != Transport::Srd || point.reads == 0, "reads of srd"));
    TRY(require(point.inline_bytes.value_or(0) <= kMaxInlineBytes, "inline_bytes"));
    TRY(require(point.slots >= 1, "slots"));
    const uint64_t lead = point.transport == Transport::Ud ? kGrhSize : 0;
    TRY(require(uint64_t{point.qps} * point.slots * stride_of(point, lead) <= kMaxRingBytes,
                "memory of the rings (qps * slots * size, with guard bands)"));
    TRY(require(point.iterations <= kMaxIterations, "iterations"));
    TRY(require(point.time_ms <= kMaxTimeMs || point.time_ms == kForever, "time_ms"));
    TRY(require((point.iterations == 0) != (point.time_ms == 0), "iterations and time_ms"));
    constexpr uint32_t kMtus[] = {0, 256, 512, 1024, 2048, 4096};
    return require(std::ranges::find(kMtus, point.mtu) != std::end(kMtus), "mtu");
}

// ---- the words of plans: poll modes, sizes, times -----------------------------------------------
namespace {
// "FROM..TO:*N" or "FROM..TO:+N"; without a step: *2.
Result<std::vector<uint32_t>> parse_range(std::string_view text, size_t dots) {
    const auto bad = [&] {
        return make_error(
            Code::BadInput, "size range '{}' is not FROM..TO:*N or FROM..TO:+N", printable(text));
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
                          "poll mode '{}' is not hybrid:N with N from 1us to {}us",
                          printable(text),
                          kMaxSpinUs);
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
            Code::BadInput, "load '{}' is not VERB:SIZE, as write:64K, or none", printable(text));
    const Verb verb = TRY(parse_word<Verb>(parts[0]));
    const uint32_t size = TRY(parse_size(parts[1]));
    return std::optional(Load{.verb = verb, .size = is_atomic(verb) ? kAtomicSize : size});
}

Result<uint32_t> parse_size(std::string_view text) {
    std::string_view number = text;
    if (number.ends_with("iB"))
        number.remove_suffix(2);
    constexpr std::string_view kUnits = "KkMmGg";
    const size_t unit = number.empty() ? std::string_view::npos : kUnits.find(number.back());
    const size_t shift = unit == std::string_view::npos ? 0 : 10 * (unit / 2 + 1);
    number.remove_suffix(shift != 0 ? 1 : 0);
    const auto value = number_of(number);
    if (!value || *value == 0 || *value > (uint64_t{kMaxSize} >> shift))
        return make_error(Code::BadInput,
                          "size '{}' is not a number of bytes from 1 to {} (K, M, G)",
                          printable(text),
                          kMaxSize);
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
            return make_error(Code::BadInput, "more than {} sizes in one list", kMaxSizes);
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
    double ms = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ms);
    ms *= scale;
    // What is no number is not within the limits either.
    if (error != std::errc() || end != number.data() + number.size() ||
        !(ms >= 1 && ms <= kMaxTimeMs))
        return make_error(
            Code::BadInput, "time '{}' is not a time from 1ms to 3600s", printable(text));
    return static_cast<uint32_t>(ms);
}

}  // namespace perf
