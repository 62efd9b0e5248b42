// SPDX-License-Identifier: Apache-2.0
// What this process may register, and what the keys that it gets tell about those of others.
#include <algorithm>
#include <cerrno>
#include <cmath>

#include <fmt/format.h>
#include <sys/resource.h>

#include "perf/suites/isolate/isolate.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr rlim_t kLowLimit = 64 * 1024;
constexpr size_t kAboveLimit = 1U << 20U;
constexpr size_t kKeys = 256;
constexpr size_t kFewKeys = 64;
// Beyond this a guess at every packet of a fast link takes seconds, and each one costs the guesser
// its queue pair.
constexpr double kEnoughBits = 24;

double entropy_of(double share) {
    if (share <= 0 || share >= 1)
        return 0;
    return -share * std::log2(share) - (1 - share) * std::log2(1 - share);
}

Result<Memory> map_bytes(uint32_t size) {
    return Memory::map(layout_of({.verb = Verb::Write, .size = size, .slots = 1}, Side::Server));
}
}  // namespace

Result<Outcome> check_memory_limit(Arena& arena) {
    if (may_lock_anything(arena.root()))
        return Outcome{IsolationVerdict::NotApplicable, "CAP_IPC_LOCK lifts the limit"};
    const Memory memory = TRY(map_bytes(kAboveLimit));
    const auto try_bytes = [&](size_t size) {
        return register_memory(arena.verbs(), arena.device().pd.get(), memory.all().first(size), 0);
    };
    rlimit before{};
    const bool known = ::getrlimit(RLIMIT_MEMLOCK, &before) == 0;
    const rlimit low{std::min(kLowLimit, before.rlim_max), before.rlim_max};
    if (!known || ::setrlimit(RLIMIT_MEMLOCK, &low) != 0)
        return Outcome{IsolationVerdict::NotApplicable, "RLIMIT_MEMLOCK cannot be changed here"};
    const auto above = try_bytes(kAboveLimit);
    (void)::setrlimit(RLIMIT_MEMLOCK, &before);
    const int refusal = above ? 0 : above.error().sys;
    if (refusal == 0)
        return Outcome{IsolationVerdict::Fail,
                       "1 MiB was registered with RLIMIT_MEMLOCK at 64 KiB",
                       "report it: the driver does not account what it pins"};
    const auto after = try_bytes(4096);
    if (!after)
        return Outcome{IsolationVerdict::Fail,
                       "after the refusal nothing can be registered: " + after.error().message(),
                       "raise RLIMIT_MEMLOCK (rdma.memlock=unlimited) and see whether it lasts"};
    return Outcome{
        refusal == ENOMEM || refusal == EAGAIN ? IsolationVerdict::Pass : IsolationVerdict::Finding,
        fmt::format("refused with: {}; a page can be registered afterwards",
                    sys_error(refusal, "").message())};
}

double unknown_bits(std::span<const uint32_t> keys) {
    if (keys.size() < 2)
        return 0;
    const auto count = static_cast<double>(keys.size() - 1);
    double sum = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
        size_t ones = 0;
        for (size_t i = 1; i < keys.size(); ++i)
            ones += ((keys[i] - keys[i - 1]) >> bit) & 1U;
        sum += entropy_of(static_cast<double>(ones) / count);
    }
    return sum;
}

Result<Outcome> check_key_guessing(Arena& arena) {
    const Memory memory = TRY(map_bytes(4096));
    std::vector<Owned<ibv_mr>> regions;
    std::vector<uint32_t> keys;
    while (keys.size() < kKeys) {
        auto region = register_memory(
            arena.verbs(), arena.device().pd.get(), memory.all(), IBV_ACCESS_REMOTE_READ);
        if (!region)
            break;
        keys.push_back((*region)->rkey);
        regions.push_back(std::move(*region));
    }
    if (keys.size() < kFewKeys)
        return Outcome{IsolationVerdict::NotApplicable,
                       fmt::format("only {} regions can be registered: too few", keys.size())};
    const double bits = unknown_bits(keys);
    const bool enough = bits >= kEnoughBits;
    return Outcome{enough ? IsolationVerdict::Pass : IsolationVerdict::Finding,
                   fmt::format("one of {} keys leaves at most {:.1f} of 32 bits of the next one to "
                               "guess (such as {:#x}, {:#x}, {:#x})",
                               keys.size(),
                               bits,
                               keys[0],
                               keys[1],
                               keys[2]),
                   enough ? ""
                          : "keys are no secret on this device: what protects memory is that a "
                            "connection is needed, and its protection domain"};
}

}  // namespace perf
