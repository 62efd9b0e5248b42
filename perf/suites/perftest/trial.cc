// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/trial.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/engine/ring.h"

namespace perf::perftest {

using base::Code;
using base::make_error;
using base::Result;

namespace {
constexpr auto kBeforeItBegins = std::chrono::seconds(5);

Result<> within(std::string_view what, uint32_t value, uint32_t low, uint32_t high) {
    if (value >= low && value <= high)
        return {};
    return make_error(
        Code::BadInput,
        fmt::format("{} of a perftest run is {}, not from {} to {}", what, value, low, high));
}

Result<> check_limits(const Settings& settings) {
    constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};
    if (std::ranges::find(kMtus, settings.mtu) == std::end(kMtus))
        return make_error(Code::BadInput, fmt::format("{} is no path MTU", settings.mtu));
    TRY(within("depth", settings.depth, 1, kMaxDepth));
    TRY(within("batch", settings.batch, 1, settings.depth));
    TRY(within("inline size", settings.inline_bytes, 0, kMaxInline));
    TRY(within("number of reads in flight", settings.reads, 1, 255));
    if (settings.depth % settings.batch != 0)
        return make_error(Code::BadInput, "batch of a perftest run does not divide its depth");
    return {};
}

void add(std::vector<std::string>& words, std::string_view option, uint64_t value) {
    words.emplace_back(option);
    words.push_back(std::to_string(value));
}

// Without -Q perftest asks for a completion of every 100th message, without -l it posts one by one.
void add_bandwidth(std::vector<std::string>& words, const Trial& trial, const Settings& settings) {
    add(words, "-t", settings.depth);
    add(words, "-Q", settings.batch);
    if (settings.batch > 1)
        add(words, "-l", settings.batch);
    if (trial.verb == Verb::Send)
        add(words, "-r", receives_of({.verb = trial.verb, .depth = settings.depth}, Side::Server));
}

void add_settings(std::vector<std::string>& words, const Trial& trial, const Settings& settings) {
    add(words, "-m", settings.mtu);
    if (trial.mode == Mode::Bandwidth)
        add_bandwidth(words, trial, settings);
    if (trial.verb == Verb::Read)
        add(words, "-o", settings.reads);
    else
        add(words, "-I", settings.inline_bytes);
    if (settings.immediate && trial.verb == Verb::Write && trial.mode == Mode::Latency)
        words.emplace_back("--write_with_imm");
}
}  // namespace

Result<> check_limits(const Trial& trial) {
    if (trial.verb != Verb::Write && trial.verb != Verb::Read && trial.verb != Verb::Send)
        return make_error(Code::BadInput,
                          fmt::format("perftest is compared with by write, read and send, not {}",
                                      name_of(trial.verb)));
    TRY(within("size", trial.size, 1, kMaxSize));
    const bool timed = trial.mode == Mode::Bandwidth;
    TRY(within("duration in seconds", trial.seconds, timed ? 1 : 0, timed ? kMaxSeconds : 0));
    TRY(within("number of iterations",
               trial.iterations,
               timed ? 0 : kMinIterations,
               timed ? 0 : kMaxIterations));
    return trial.settings ? check_limits(*trial.settings) : Result<>();
}

std::string program_of(Verb verb, Mode mode) {
    return fmt::format("ib_{}_{}", name_of(verb), name_of(mode));
}

std::vector<std::string> arguments_of(const Trial& trial, const End& end) {
    std::vector<std::string> words = {"-F", "-d", end.device};
    add(words, "-i", end.device_port);
    if (end.gid_index)
        add(words, "-x", *end.gid_index);
    add(words, "-p", end.port);
    add(words, "-s", trial.size);
    if (trial.mode == Mode::Bandwidth)
        add(words, "-D", trial.seconds);
    else
        add(words, "-n", trial.iterations);
    if (trial.settings)
        add_settings(words, trial, *trial.settings);
    if (!end.server.is_v4())
        words.emplace_back("--ipv6-addr");
    if (end.side == Side::Client)
        words.push_back(end.server.text());
    else if (end.can_bind)
        words.insert(words.end(), {"--bind_source_ip", end.server.text()});
    return words;
}

std::chrono::milliseconds length_of(const Trial& trial) {
    return kBeforeItBegins + std::chrono::seconds(trial.seconds) +
           std::chrono::milliseconds(trial.iterations);
}

}  // namespace perf::perftest
