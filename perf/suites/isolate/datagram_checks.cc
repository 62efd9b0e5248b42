// SPDX-License-Identifier: Apache-2.0
// Datagrams with a wrong queue key have to be dropped without a word.
#include <algorithm>

#include <fmt/format.h>

#include "perf/suites/isolate/isolate.h"

namespace perf {

namespace {
constexpr uint32_t kRounds = 5;  // any datagram may get lost

bool has(const std::vector<uint32_t>& heard, uint32_t number) {
    return std::ranges::find(heard, number) != heard.end();
}
}  // namespace

Result<Outcome> check_queue_key(Arena& arena) {
    const Listening there = TRY(arena.listen());
    Link speaker = TRY(Link::create(arena.device(), {.type = IBV_QPT_UD}));
    TRY(speaker.connect(arena.peer(), {}));
    const auto to = TRY(make_address_handle(speaker.end(), arena.device().pd.get(), arena.peer()));
    const auto say = [&](uint32_t key, uint32_t number) {
        return arena.say(speaker, to.get(), there, key, number);
    };
    for (uint32_t i = 0; i < kRounds; ++i) {
        // Three datagrams of successive numbers: right key, wrong key, right key.
        const uint32_t first = 3 * i + 1;
        TRY(say(there.queue_key, first));
        TRY(say(there.queue_key ^ 1U, first + 1));
        TRY(say(there.queue_key, first + 2));
        const auto heard = TRY(arena.hear(first + 2));
        if (has(heard, first + 1))
            return Outcome{IsolationVerdict::Fail,
                           "a datagram with a wrong queue key was delivered",
                           "do not trust queue keys on this device: report it with kernel and "
                           "driver version"};
        if (has(heard, first) && has(heard, first + 2))
            return Outcome{IsolationVerdict::Pass,
                           "dropped, while those with the right key before and after it came"};
    }
    return make_error(Code::Unsupported,
                      fmt::format("of {} rounds of datagrams none came whole", kRounds))
        .advise("see whether datagrams work at all: rdma-perf run --transport ud --verb send");
}

}  // namespace perf
