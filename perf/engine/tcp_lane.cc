// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/tcp_lane.h"

#include <algorithm>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace perf {

namespace {
constexpr uint8_t kMark = 0x5a;

msghdr message_of(std::span<iovec> pieces) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    return message;
}

iovec piece_of(std::span<std::byte> data) {
    return {data.data(), data.size()};
}
}  // namespace

// ---- lane ---------------------------------------------------------------------------------------
Result<TcpLane> TcpLane::create(TcpQueue& queue, const Point& point, Side side, LaneId id) {
    TcpLane lane(TRY(Ring::make(point, side, id)));
    lane.queue_ = &queue;
    lane.free_ = receives_of(point, side);
    // A pong may owe an answer for each receive.
    lane.jobs_.resize(std::max({point.depth, lane.hot.window, lane.free_}));
    return lane;
}

Result<> TcpLane::connect(UniqueFd fd) {
    fd_ = std::move(fd);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u32 = id.place;
    if (::epoll_ctl(queue_->fd(), EPOLL_CTL_ADD, fd_.get(), &event) != 0)
        return sys_error("epoll_ctl");
    return {};
}

void TcpLane::plain_messages() noexcept {
    marks_in_ = marks_out_ = ends_count_ = 0;
    out_posted_ = out_ = in_ = 0;
    if (point.mode != Mode::Bandwidth || point.iterations == 0)
        return;
    const uint64_t iterations = iterations_of(point, id.number);
    const uint64_t warmup = warmup_of(point, iterations);
    if (warmup != 0)
        ends_[ends_count_++] = warmup;
    ends_[ends_count_++] = warmup + iterations;
}

int TcpLane::post(uint32_t at, uint32_t count, bool signaled) noexcept {
    if (posted_ - reported_ == jobs_.size())
        return ENOMEM;
    out_posted_ += count;
    const bool idle = written_ == posted_;
    job(posted_++) = {.at = at, .count = count, .signaled = signaled, .end = out_posted_};
    if (idle)
        flush();
    return 0;
}

void TcpLane::fail(int number) noexcept {
    if (number != EAGAIN && number != EINTR)
        error_ = number;
}

void TcpLane::flush() noexcept {
    Pieces pieces;
    while (may_write_ && error_ == 0) {
        const size_t count = gather_sends(pieces);
        if (count == 0)
            return;
        const msghdr message = message_of({pieces.data(), count});
        const ssize_t done = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0)
            fail(errno);
        else
            advance_sends(static_cast<size_t>(done));
        may_write_ = done >= 0;
    }
}

// Nothing goes beyond a mark that is not written yet: the other side looks for it there.
size_t TcpLane::gather_sends(Pieces& pieces) noexcept {
    const bool owes = layout.in.exists() && marks_out_ < ends_count_;
    uint64_t left = owes ? ends_[marks_out_] - out_ : UINT64_MAX;
    size_t count = 0;
    size_t offset = out_offset_;
    for (uint64_t number = written_; number != posted_; ++number) {
        const Job& next = job(number);
        for (uint32_t i = next.sent; i < next.count; ++i, --left) {
            if (left == 0 || count == kPieces)
                return count;
            const uint32_t slot = (next.at + i) % point.slots;
            pieces[count++] = piece_of(memory.slot(layout.out, slot).subspan(offset));
            offset = 0;
        }
    }
    return count;
}

void TcpLane::advance_sends(size_t bytes) noexcept {
    out_offset_ += bytes;
    while (out_offset_ >= point.size) {
        out_offset_ -= point.size;
        ++out_;
        Job& current = job(written_);
        if (++current.sent == current.count)
            ++written_;
    }
}

void TcpLane::read_messages() noexcept {
    if (!may_read_ || error_ != 0)
        return;
    Pieces pieces;
    const size_t count = gather_receives(pieces);
    if (count == 0)
        return;
    const size_t room = count * point.size - in_offset_;
    msghdr message = message_of({pieces.data(), count});
    const ssize_t got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
    may_read_ = hung_up_ || (got >= 0 && static_cast<size_t>(got) == room);
    if (got <= 0)
        return fail(got == 0 ? ECONNRESET : errno);
    in_offset_ += static_cast<size_t>(got);
    for (; in_offset_ >= point.size; in_offset_ -= point.size) {
        ++arrived_;
        ++in_;
        --free_;
    }
}

// Stops where the other side's mark is due.
size_t TcpLane::gather_receives(Pieces& pieces) noexcept {
    if (!layout.in.exists())
        return 0;
    const bool due = layout.out.exists() && marks_in_ < ends_count_;
    const uint64_t left = due ? ends_[marks_in_] - in_ : UINT64_MAX;
    const auto count = static_cast<size_t>(std::min<uint64_t>({left, free_, kPieces}));
    for (size_t i = 0; i < count; ++i) {
        const auto slot = static_cast<uint32_t>((arrived_ + i) % point.slots);
        pieces[i] = piece_of(memory.slot(layout.in, slot).subspan(i == 0 ? in_offset_ : 0));
    }
    return count;
}

void TcpLane::read_mark() noexcept {
    const bool due = layout.out.exists() && marks_in_ < ends_count_ && out_ >= ends_[marks_in_] &&
                     (!layout.in.exists() || in_ == ends_[marks_in_]);
    if (!due || error_ != 0)
        return;
    uint8_t mark = 0;
    const ssize_t got = ::recv(fd_.get(), &mark, 1, MSG_DONTWAIT);
    if (got != 1 || mark != kMark)
        return fail(got < 0 ? errno : got == 0 ? ECONNRESET : EBADMSG);
    ++marks_in_;
}

void TcpLane::write_mark() noexcept {
    const bool due = layout.in.exists() && marks_out_ < ends_count_ && in_ == ends_[marks_out_] &&
                     (!layout.out.exists() || out_ == ends_[marks_out_]);
    if (!due || error_ != 0)
        return;
    if (::send(fd_.get(), &kMark, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
        ++marks_out_;
    else
        fail(errno);
}

bool TcpLane::waits_for_mark(const Job& job) const noexcept {
    const auto ends = std::span(ends_).subspan(marks_in_, ends_count_ - marks_in_);
    return std::ranges::find(ends, job.end) != ends.end();
}

size_t TcpLane::report(std::span<ibv_wc> out) noexcept {
    size_t count = 0;
    const auto add = [&](ibv_wc_opcode opcode, uint32_t low) {
        ibv_wc& wc = out[count++];
        wc = {};
        wc.wr_id = hot.tag | low;
        wc.opcode = opcode;
        wc.byte_len = point.size;
        wc.qp_num = id.number;
    };
    for (; count < out.size() && reported_ != written_ && !waits_for_mark(job(reported_));
         ++reported_) {
        if (job(reported_).signaled)
            add(IBV_WC_SEND, job(reported_).count);
    }
    for (; count < out.size() && told_ != arrived_; ++told_)
        add(IBV_WC_RECV, static_cast<uint32_t>(told_ % point.slots));
    if (count == 0 && error_ != 0 && !out.empty()) {
        add(IBV_WC_SEND, 0);
        out.front().status = IBV_WC_FATAL_ERR;
        out.front().vendor_err = static_cast<uint32_t>(error_);
    }
    return count;
}

// ---- queue --------------------------------------------------------------------------------------
int TcpQueue::poll(std::span<ibv_wc> out) noexcept {
    // A single socket is asked itself: that is one call, and it brings the data along.
    if (lanes_.size() == 1)
        lanes_.front().may_read_ = lanes_.front().may_write_ = true;
    // Now and then all is looked at in any case: sends that always go at once would keep what comes
    // in waiting.
    constexpr uint32_t kMostBrief = 16;
    const bool brief = ++polls_ % kMostBrief != 0;
    size_t count = report(out);
    if (brief && count == out.size())
        return static_cast<int>(count);
    progress();
    count += report(out.subspan(count));
    if (lanes_.size() == 1 || (brief && count != 0))
        return static_cast<int>(count);
    take_events();
    progress();
    return static_cast<int>(count + report(out.subspan(count)));
}

size_t TcpQueue::report(std::span<ibv_wc> out) noexcept {
    size_t count = 0;
    for (size_t i = 0; i < lanes_.size() && count < out.size(); ++i)
        count += lanes_[(first_ + i) % lanes_.size()].report(out.subspan(count));
    first_ = (first_ + 1) % lanes_.size();
    return count;
}

void TcpQueue::progress() noexcept {
    for (TcpLane& lane : lanes_) {
        lane.flush();
        lane.read_messages();
        lane.read_mark();
        lane.write_mark();
    }
}

void TcpQueue::take_events() noexcept {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<size_t>(i)];
        TcpLane& lane = lanes_[event.data.u32];
        lane.hung_up_ = lane.hung_up_ || (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        lane.may_read_ = lane.may_read_ || lane.hung_up_ || (event.events & EPOLLIN) != 0;
        lane.may_write_ = lane.may_write_ || (event.events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
    }
}

// ---- group --------------------------------------------------------------------------------------
Result<TcpGroup> TcpGroup::create(const Point& point, Side side, uint32_t first, uint32_t count) {
    UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll)
        return sys_error("epoll_create1");
    TcpGroup group;
    group.queue = std::make_unique<TcpQueue>(std::move(epoll));
    group.lanes.reserve(count);
    for (uint32_t place = 0; place < count; ++place)
        group.lanes.push_back(TRY(
            TcpLane::create(*group.queue, point, side, {.number = first + place, .place = place})));
    group.queue->drive(group.lanes);
    return group;
}

}  // namespace perf
