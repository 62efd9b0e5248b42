// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/control.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <endian.h>
#include <poll.h>
#include <sys/socket.h>

namespace perf {

Result<std::string> encode_frame(const Json& body) {
    const std::string text = base::dump_json(body);
    if (text.size() > kFrameLimit)
        return make_error(Code::Internal, "control message too large");
    std::string frame(kFrameMagic);
    for (int shift = 24; shift >= 0; shift -= 8)
        frame += static_cast<char>((text.size() >> static_cast<unsigned>(shift)) & 0xffU);
    return frame + text;
}

Result<size_t> decode_header(std::string_view header) {
    if (header.size() != kFrameHeader || !header.starts_with(kFrameMagic))
        return make_error(Code::BadInput,
                          "the peer does not speak the control protocol of rdma-perf: got '{}'",
                          printable(header, kFrameHeader));
    size_t length = 0;
    for (const char c : header.substr(kFrameMagic.size()))
        length = (length << 8U) | static_cast<unsigned char>(c);
    if (length == 0 || length > kFrameLimit)
        return make_error(Code::BadInput,
                          "control message of {} bytes: allowed are 1 to {}",
                          length,
                          kFrameLimit);
    return length;
}

Result<> Control::send(const Json& body, const Deadline& deadline) {
    const std::string frame = TRY(encode_frame(body));
    size_t done = 0;
    while (done < frame.size()) {
        const ssize_t n = ::send(
            fd_.get(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
            done += static_cast<size_t>(n);
        else if (errno == EAGAIN)
            TRY(wait_ready(fd_.get(), POLLOUT, deadline, *stop_));
        else if (errno != EINTR)
            return socket_error(errno, "send on the control connection");
    }
    return {};
}

Result<std::string> Control::read_exactly(size_t bytes, const Deadline& deadline) {
    std::string out(bytes, '\0');
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = ::recv(fd_.get(), out.data() + done, bytes - done, MSG_DONTWAIT);
        if (n > 0)
            done += static_cast<size_t>(n);
        else if (n == 0)
            return closed_error();
        else if (errno == EAGAIN)
            TRY(wait_ready(fd_.get(), POLLIN | POLLRDHUP, deadline, *stop_));
        else if (errno != EINTR)
            return socket_error(errno, "receive on the control connection");
    }
    return out;
}

Result<Json> Control::receive(const Deadline& deadline) {
    const std::string header = TRY(read_exactly(kFrameHeader, deadline));
    const size_t length = TRY(decode_header(header));
    const std::string text = TRY(read_exactly(length, deadline));
    Json body = TRY(base::parse_json(text, "control message"));
    if (!body.is_object())
        return make_error(Code::BadInput, "control message is not an object");
    return body;
}

Result<Json> Control::expect(std::string_view type, const Deadline& deadline) {
    Json body = TRY(receive(deadline).context("waiting for '" + std::string(type) + "'"));
    const auto got = TRY(base::required<std::string>(body, "type"));
    if (got == "error")
        return parse_error_message(body);
    if (got != type)
        return make_error(
            Code::BadInput, "control message '{}' where '{}' is due", printable(got, 40), type);
    return body;
}

Result<Json> Control::ask(const Json& body, std::string_view reply, const Deadline& deadline) {
    // A peer that refuses and closes may make the send fail: its reason is still to be read.
    auto sent = send(body, deadline);
    if (sent)
        return expect(reply, deadline);
    if (sent.error().code != Code::Unavailable)
        return std::move(sent).error();
    auto reason = expect(reply, deadline);
    return reason ? std::move(sent).error() : std::move(reason).error();
}

// ---- streams ------------------------------------------------------------------------------------
namespace {
constexpr size_t kStrangers = 64;  // that are given time to say who they are

struct StreamGreeting {
    std::array<char, 4> magic = {'R', 'D', 'T', '1'};
    uint32_t number = 0;  // big endian, both
    uint64_t secret = 0;

    bool operator==(const StreamGreeting&) const = default;
};

StreamGreeting greeting_of(uint32_t number, uint64_t secret) {
    return {.number = htobe32(number), .secret = htobe64(secret)};
}
}  // namespace

Result<StreamDoor> StreamDoor::open(const Control& control) {
    return StreamDoor(control, TRY(listen_beside(control.fd())), random_seed());
}

Result<Streams> StreamDoor::admit(uint32_t count, const Deadline& deadline) {
    streams_.resize(count);
    while (std::ranges::any_of(streams_, [](const UniqueFd& fd) { return !fd; })) {
        TRY(wait(deadline));
        TRY(take_callers());
        for (Caller& caller : callers_)
            hear(caller);
        std::erase_if(callers_, [](const Caller& caller) { return caller.gone; });
    }
    return std::move(streams_);
}

Result<> StreamDoor::wait(const Deadline& deadline) {
    std::vector<pollfd> fds = {{control_->stop().fd(), POLLIN, 0},
                               {control_->fd(), POLLRDHUP, 0},
                               {listener_.fd.get(), POLLIN, 0}};
    for (const Caller& caller : callers_)
        fds.push_back({caller.fd.get(), POLLIN, 0});
    const int ready = ::poll(fds.data(), fds.size(), deadline.left_ms());
    if (control_->stop().requested())
        return stopped_error();
    if (ready < 0 && errno != EINTR)
        return sys_error("poll");
    if (fds[1].revents != 0 && ready > 0)
        return closed_error();
    // Even if something came: strangers must not keep us for ever.
    if (deadline.passed())
        return make_error(Code::Timeout,
                          "{} of {} data connections to port {} came in time",
                          std::ranges::count_if(streams_, [](const UniqueFd& fd) { return !!fd; }),
                          streams_.size(),
                          listener_.port);
    return {};
}

Result<> StreamDoor::take_callers() {
    while (auto fd = TRY(accept_from(listener_))) {
        Caller caller{.fd = std::move(*fd)};
        hear(caller);  // ours have mostly spoken by now
        if (caller.gone)
            continue;
        // There is room for all expected connections, however slow. So one too many means that a
        // stranger is among them, and the oldest goes.
        if (callers_.size() == kStrangers + streams_.size())
            callers_.pop_front();
        callers_.push_back(std::move(caller));
    }
    return {};
}

void StreamDoor::hear(Caller& caller) {
    const ssize_t got = ::recv(caller.fd.get(),
                               caller.said.data() + caller.length,
                               caller.said.size() - caller.length,
                               MSG_DONTWAIT);
    if (got <= 0) {
        caller.gone = got == 0 || (errno != EAGAIN && errno != EINTR);
        return;
    }
    caller.length += static_cast<size_t>(got);
    if (caller.length < caller.said.size())
        return;
    caller.gone = true;
    const auto greeting = std::bit_cast<StreamGreeting>(caller.said);
    const uint32_t number = be32toh(greeting.number);
    if (greeting == greeting_of(number, secret_) && number < streams_.size() && !streams_[number])
        streams_[number] = std::move(caller.fd);
}

Result<Streams> dial_streams(const Control& control,
                             const StreamOffer& offer,
                             uint32_t count,
                             const Deadline& deadline) {
    Streams streams;
    for (uint32_t number = 0; number < count; ++number) {
        streams.push_back(TRY(connect_beside(control.fd(), offer.port, deadline, control.stop())));
        const StreamGreeting greeting = greeting_of(number, offer.secret);
        // The first bytes of a connection always have room.
        if (::send(streams.back().get(), &greeting, sizeof greeting, MSG_NOSIGNAL) !=
            ssize_t{sizeof greeting})
            return socket_error(errno, "greet on a data connection");
    }
    return streams;
}

}  // namespace perf
