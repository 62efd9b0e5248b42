// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/crew.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>

namespace perf {

namespace {
Result<UniqueFd> make_event() {
    UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd)
        return sys_error("eventfd");
    return fd;
}
}  // namespace

Result<std::unique_ptr<Crew>> Crew::create() {
    std::unique_ptr<Crew> crew(new Crew);
    crew->news_ = TRY(make_event());
    return crew;
}

Crew::~Crew() {
    tell(&Worker::abort);
    hands_.clear();  // joins
}

Result<> Crew::hire(bool expects, Body body) {
    hands_.emplace_back(*this, TRY(make_event()), expects, std::move(body));
    return {};
}

Result<> Crew::start() {
    share_ = TRY(ThreadBudget::take(hands_.size()));
    // One more than the hands: this thread, which leaves after the first meeting.
    meeting_ = std::make_unique<std::barrier<>>(static_cast<ptrdiff_t>(hands_.size()) + 1);
    size_t started = 0;
    try {
        for (Hand& hand : hands_) {
            hand.thread_ = std::jthread([this, &hand] { work(hand); });
            ++started;
        }
    } catch (const std::system_error& error) {
        // Those that never came must not be waited for.
        for (size_t i = started; i < hands_.size(); ++i)
            meeting_->arrive_and_drop();
        meeting_->arrive_and_drop();
        return sys_error(error.code().value(), fmt::format("start thread {}", started + 1))
            .advise("use fewer --threads, or raise the container's limit of processes");
    }
    meeting_->arrive_and_wait();
    meeting_->arrive_and_drop();
    return {};
}

void Crew::work(Hand& hand) {
    // ppoll(2) may sleep 50 us longer than asked (PR_SET_TIMERSLACK(2const)); in an open loop all
    // of that would count as latency.
    (void)::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    hand.meet();
    hand.ending_ = hand.body_(hand);
    meeting_->arrive_and_drop();
    announce(hand, Hand::State::Ended);
}

void Crew::announce(Hand& hand, Hand::State state) noexcept {
    hand.state_.store(state, std::memory_order_release);
    (void)::eventfd_write(news_.get(), 1);
}

void Crew::clear_news() noexcept {
    eventfd_t ignored = 0;
    (void)::eventfd_read(news_.get(), &ignored);
}

const Ending* Crew::failure() const {
    const auto bad = std::ranges::find_if(
        hands_, [](const Hand& hand) { return hand.has_ended() && !hand.ending_.good(); });
    return bad == hands_.end() ? nullptr : &bad->ending_;
}

void Crew::tell(void (Worker::*word)() noexcept) noexcept {
    for (Hand& hand : hands_) {
        (hand.worker.*word)();
        hand.hurry();
    }
}

void Crew::expect(size_t hand, uint64_t messages) noexcept {
    hands_[hand].worker.expect(messages);
    hands_[hand].hurry();
}

uint64_t Crew::sum(uint64_t (Worker::*of)() const noexcept) const {
    uint64_t all = 0;
    for (const Hand& hand : hands_)
        all += (hand.worker.*of)();
    return all;
}

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
        if (!poll_until(fds, until_ns))
            return sys_error("poll");
        for (size_t i = 0; i < watched.size(); ++i) {
            if (fds[kOwn + 2 * i].revents != 0)
                return Attention{Spoken, i};
        }
    }
}

}  // namespace perf
