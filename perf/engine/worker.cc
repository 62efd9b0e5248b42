// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/worker.h"

#include <cerrno>
#include <chrono>

#include <sys/eventfd.h>

#include "perf/engine/tcp_lane.h"

namespace perf {

void Worker::hear() noexcept {
    eventfd_t ignored = 0;
    // Non-blocking; empty if two words came at once and the first look saw both.
    (void)::eventfd_read(word_.get(), &ignored);
}

void Worker::tell(Phase phase) noexcept {
    phase_.store(phase, std::memory_order_release);
    (void)::eventfd_write(word_.get(), 1);
}

void Worker::expect(uint64_t messages) noexcept {
    expected_.store(messages, std::memory_order_release);
    (void)::eventfd_write(word_.get(), 1);
}

Error ending_error(const Ending& ending, const Waiting& waiting) {
    const bool refused = ending.post_error != 0 || ending.wake == Wake::Failed;
    const bool cut_off = ending.post_error == EIO || ending.post_error == ENODEV;
    const std::chrono::milliseconds grace{cut_off ? 500 : 0};
    if (refused && waiting.device != nullptr && is_gone(*waiting.device, grace))
        return gone_error(*waiting.device);
    if (ending.post_error != 0)
        return sys_error(ending.post_error, "post a work request");
    if (ending.bad.status != IBV_WC_SUCCESS) {
        // A failed completion is often how a dead peer shows first. Its closed connection, with its
        // own words if it had any, is the better explanation and may be a moment behind.
        if (peer_is_gone(waiting, std::chrono::milliseconds(200)))
            return wake_error(Wake::Gone, waiting);
        if (waiting.device == nullptr)
            return data_socket_error(ending.bad);
        if (auto down = port_error(*waiting.device))
            return *std::move(down);
        return completion_error(ending.bad);
    }
    return wake_error(ending.wake, waiting);
}

}  // namespace perf
