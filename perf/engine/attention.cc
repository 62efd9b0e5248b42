// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/attention.h"

#include <vector>

#include <poll.h>

namespace perf {

namespace {
Result<> sleep_until(std::span<pollfd> fds, uint64_t until_ns) {
    constexpr uint64_t kSecond = 1'000'000'000;
    const uint64_t now = now_ns();
    const uint64_t left = until_ns > now ? until_ns - now : 0;
    const timespec timeout = {.tv_sec = static_cast<time_t>(left / kSecond),
                              .tv_nsec = static_cast<long>(left % kSecond)};
    if (::ppoll(fds.data(), fds.size(), until_ns == UINT64_MAX ? nullptr : &timeout, nullptr) < 0 &&
        errno != EINTR)
        return sys_error("poll");
    return {};
}
}  // namespace

Result<Attention> attend(std::span<const Watched> watched,
                         uint64_t until_ns,
                         const std::function<bool()>& done,
                         int wake_fd) {
    using enum Attention::Cause;
    const Stop& stop = watched.front().control->stop();
    constexpr size_t kOwn = 2;  // before those of the watched ones; poll(2) ignores -1
    std::vector<pollfd> fds = {{stop.fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
    for (const Watched& one : watched) {
        fds.push_back({one.control->fd(), POLLIN | POLLRDHUP, 0});
        fds.push_back({one.crew->news_fd(), POLLIN, 0});
    }
    for (;;) {
        if (stop.requested())
            return stopped_error();
        // Before the look: news that come in between are seen in the next round.
        for (const Watched& one : watched)
            one.crew->clear_news();
        // And this before the search for failures: who fails in between has not been done.
        const bool all_done = done();
        for (size_t i = 0; i < watched.size(); ++i) {
            if (watched[i].crew->failure() != nullptr)
                return Attention{Failed, i};
        }
        if (all_done)
            return Attention{Done, 0};
        if (now_ns() >= until_ns)
            return Attention{TimeUp, 0};
        TRY(sleep_until(fds, until_ns));
        for (size_t i = 0; i < watched.size(); ++i) {
            if (fds[kOwn + 2 * i].revents != 0)
                return Attention{Spoken, i};
        }
    }
}

}  // namespace perf
