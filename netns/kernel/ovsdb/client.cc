// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/ovsdb/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "netns/kernel/ovsdb/transaction.h"

namespace netns::ovsdb {

namespace {
constexpr size_t kReadSize = size_t{64} << 10;

Error no_database(int number, const std::string& socket) {
    Error error = sys_error(number, "Open vSwitch has no database at " + socket);
    switch (number) {
        case ECONNREFUSED:
            error.text = "nobody serves the database of Open vSwitch at " + socket;
            [[fallthrough]];
        case ENOENT:
        case ENOTDIR:
            error.code = Code::Unavailable;
            error.fix = std::string("start it: ") + kStartOvs;
            break;
        case EACCES:
        case EPERM:
            error.text = "connect to the database of Open vSwitch at " + socket;
            error.fix = "run as root";
            break;
        default:
            error.text = "connect to the database of Open vSwitch at " + socket;
    }
    return error;
}

Error closed() {
    return make_error(Code::Unavailable, "the database of Open vSwitch closed the connection")
        .advise("see the log of ovsdb-server");
}

// Makes the error of read and write on a broken connection.
Error broken(const std::string& what) {
    if (errno == EPIPE || errno == ECONNRESET)
        return closed();
    return sys_error(what);
}

Error too_late() {
    return make_error(Code::Timeout, "the database of Open vSwitch has not answered")
        .advise("see whether it runs: systemctl status ovsdb-server");
}

timeval span_of(const base::Deadline& deadline) {
    constexpr int kMsInSecond = 1000;
    const int ms = std::max(deadline.left_ms(), 1);  // 0 would wait without limit
    timeval span{};
    span.tv_sec = ms / kMsInSecond;
    span.tv_usec = suseconds_t{ms % kMsInSecond} * kMsInSecond;
    return span;
}
}  // namespace

Result<> Client::begin(base::Deadline deadline) {
    deadline_ = deadline;
    bytes_left_ = kMaxBytes;
    drop_if_closed();
    return fd_ ? Result<>{} : connect();
}

Result<> Client::connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_.size() >= sizeof address.sun_path)
        return make_error(Code::BadConfig, "path of a socket is too long: " + socket_);
    std::copy(socket_.begin(), socket_.end(), std::begin(address.sun_path));
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!fd)
        return sys_error("make a socket");
    // The queue of a server that accepts no connection fills up. A non-blocking connect would fail
    // at once, with nothing to wait for. So it blocks, with a limit.
    do {
        const timeval span = span_of(deadline_);
        if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &span, sizeof span) != 0)
            return sys_error("set the timeout of a socket");
        if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            fd_ = std::move(fd);
            return {};
        }
    } while (errno == EINTR && !deadline_.passed());
    if (errno == EAGAIN || errno == EINTR)
        return too_late();
    return no_database(errno, socket_);
}

void Client::drop_if_closed() {
    pollfd ready{.fd = fd_.get(), .events = POLLRDHUP, .revents = 0};
    if (fd_ && ::poll(&ready, 1, 0) > 0)
        close();
}

void Client::close() {
    fd_.reset();
    splitter_ = {};
}

template <class T>
Result<T> Client::checked(Result<T> done) {
    if (!done)
        close();
    return done;
}

Result<Outcome> Client::transact(Json operations) {
    return checked(exchange(std::move(operations)));
}

Result<Outcome> Client::exchange(Json operations) {
    const int64_t id = ++last_id_;
    const size_t count = operations.size();
    operations.insert(operations.begin(), kDatabase);
    TRY(write(encode_request("transact", std::move(operations), id)));
    return read_outcome(TRY(await_reply(id)), count);
}

Result<Json> Client::await_reply(int64_t id) {
    for (;;) {
        Message message = TRY(next_message());
        if (message.kind != Kind::Reply && message.kind != Kind::Failure) {
            TRY(attend(message));
            continue;
        }
        if (message.id != id)
            return make_error(
                       Code::Internal,
                       "protocol error: the database of Open vSwitch answered another request")
                .advise("try again, and look at the log of ovsdb-server");
        if (message.kind == Kind::Failure)
            return explain(read_refusal(message.body, 0), "transact");
        return std::move(message.body);
    }
}

Result<> Client::attend(const Message& message) {
    return message.kind == Kind::Echo ? write(encode_echo(message)) : Result<>{};
}

Result<Message> Client::next_message() {
    for (;;) {
        if (deadline_.passed())  // also if the peer never stops
            return too_late();
        if (const auto text = TRY(splitter_.next()))
            return read_message(*text);
        TRY(read_some());
    }
}

Result<> Client::read_some() {
    const std::string what = "read from the database of Open vSwitch";
    std::array<char, kReadSize> buffer;  // NOLINT: not initialised
    for (;;) {
        const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size == 0)
            return closed();
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            return broken(what);
        if (size < 0) {
            TRY(wait_for(POLLIN, what));
            continue;
        }
        const auto read = static_cast<size_t>(size);
        if (read > bytes_left_)
            return make_error(Code::Internal, "the database of Open vSwitch does not stop sending");
        bytes_left_ -= read;
        splitter_.append({buffer.data(), read});
        return {};
    }
}

Result<> Client::write(std::string_view bytes) {
    const std::string what = "write to the database of Open vSwitch";
    while (!bytes.empty()) {
        const ssize_t size =
            ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            return broken(what);
        if (size < 0)
            TRY(wait_for(POLLOUT, what));
        else
            bytes.remove_prefix(static_cast<size_t>(size));
    }
    return {};
}

Result<> Client::wait_for(short events, const std::string& what) {
    if (deadline_.passed())
        return too_late();
    pollfd ready{.fd = fd_.get(), .events = events, .revents = 0};
    if (::poll(&ready, 1, deadline_.left_ms()) < 0 && errno != EINTR)
        return sys_error(what);
    return {};
}

}  // namespace netns::ovsdb
