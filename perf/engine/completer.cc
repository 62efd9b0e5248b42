// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/completer.h"

#include <fmt/format.h>

#include "perf/system/tcp.h"

namespace perf {

namespace {
Error words_of_peer(const Waiting& waiting) {
    // The connection is readable or closed: this never waits for long. An answer that came before
    // the end is of no use any more.
    constexpr int kMaxAnswers = 4;
    for (int i = 0; i < kMaxAnswers; ++i) {
        auto said = waiting.control->receive(Deadline::in(std::chrono::milliseconds(200)));
        if (!said)
            return std::move(said).error();
        if (said->value("type", Json()) == "error")
            return parse_error_message(*said);
    }
    return protocol_error("the peer sent an unexpected message");
}
}  // namespace

bool poll_until(std::span<pollfd> fds, uint64_t until_ns) noexcept {
    constexpr uint64_t kSecond = 1'000'000'000;
    const uint64_t now = now_ns();
    const uint64_t left = until_ns > now ? until_ns - now : 0;
    const timespec timeout = {.tv_sec = static_cast<time_t>(left / kSecond),
                              .tv_nsec = static_cast<long>(left % kSecond)};
    const timespec* limit = until_ns == UINT64_MAX ? nullptr : &timeout;
    return ::ppoll(fds.data(), fds.size(), limit, nullptr) >= 0 || errno == EINTR;
}

Error wake_error(Wake wake, const Waiting& waiting) {
    switch (wake) {
        case Wake::Stopped:
            return stopped_error();
        case Wake::TimedOut:
            return make_error(Code::Timeout,
                              "no completion for {} ms: the peer is gone, or packets are lost",
                              waiting.patience.count())
                .advise("check the path: rdma-perf doctor --peer HOST; or raise --timeout");
        case Wake::Removed:
            return gone_error(*waiting.device);
        case Wake::Failed:
            return sys_error("poll the completion queue");
        case Wake::Gone:
            return words_of_peer(waiting);
        case Wake::Completions:
        case Wake::Due:
        case Wake::Word:
            break;
    }
    return make_error(Code::Internal, "this is no error");
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
        constexpr int kMomentMs = 200;
        pollfd hung_up = {waiting.control->fd(), POLLRDHUP, 0};
        if (::poll(&hung_up, 1, kMomentMs) > 0)
            return wake_error(Wake::Gone, waiting);
        if (waiting.device == nullptr)  // TcpLane::report() made it
            return socket_error(static_cast<int>(ending.bad.vendor_err),
                                fmt::format("data connection of stream {}", ending.bad.qp_num));
        if (auto down = port_error(*waiting.device))
            return *std::move(down);
        return outcome_of(ending.bad).error();
    }
    return wake_error(ending.wake, waiting);
}

Wake Lookout::look_around(int channel_fd, uint64_t until_ns) noexcept {
    const uint64_t now = now_ns();
    if (idle_since_ == 0)
        idle_since_ = now;
    if (now - idle_since_ >= patience_ns_)
        return Wake::TimedOut;
    const auto watched = static_cast<short>(has_word_ ? POLLIN : POLLRDHUP);
    // Each descriptor costs a sleep some hundred instructions. Of a stop a worker has word.
    pollfd fds[4] = {{watched_fd_, watched, 0},
                     {has_word_ ? -1 : stop_->fd(), POLLIN, 0},
                     {channel_fd, POLLIN, 0},
                     {device_ == nullptr ? -1 : device_->context->async_fd, POLLIN, 0}};
    if (!poll_until(fds, channel_fd < 0 ? 0 : std::min(idle_since_ + patience_ns_, until_ns)))
        return Wake::Failed;
    has_event_ = fds[2].revents != 0;
    if (stop_->requested())
        return Wake::Stopped;
    if (fds[3].revents != 0 && is_gone(*device_))
        return Wake::Removed;
    if (fds[0].revents == 0)
        return Wake::Completions;
    return has_word_ ? Wake::Word : Wake::Gone;
}

}  // namespace perf
