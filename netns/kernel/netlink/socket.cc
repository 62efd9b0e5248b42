// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/netlink/socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <span>

#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace netns::netlink {

namespace {
// Answers come while the request is sent; only a fault of the kernel causes a wait.
constexpr std::chrono::milliseconds kAnswerTime{10000};
// Large enough for all but a PF with hundreds of VFs (32 KiB for each part of a dump).
constexpr size_t kBufferSize = 65536;
constexpr size_t kLargestBuffer = 16 * kBufferSize;

// The buffer for all sockets of a thread: an answer is taken out of it before the next is read. It
// is not zeroed, so only the bytes that an answer fills cost memory.
std::span<uint8_t> buffer(size_t at_least = kBufferSize) {
    thread_local std::unique_ptr<uint8_t[]> bytes;
    thread_local size_t size = 0;
    if (size < at_least) {
        bytes = std::make_unique_for_overwrite<uint8_t[]>(at_least);
        size = at_least;
    }
    return {bytes.get(), size};
}

constexpr size_t kMaxSockets = 4;
constexpr int kMaxRounds = 8;

Error refused(const std::string& what, const Outcome& outcome) {
    Error error = sys_error(outcome.error, what);
    error.extack = outcome.extack;
    return error;
}

// Unavailable: there is no such link.
Error link_error(std::string what) {
    Error error = sys_error(std::move(what));
    return error.sys == ENODEV ? std::move(error).as(Code::Unavailable) : error;
}

Error malformed(const std::string& what) {
    return make_error(Code::Internal, what + ": the kernel's answer is malformed");
}

Error late(const std::string& what) {
    return make_error(Code::Timeout, what + ": no answer in time");
}

Error lost(const std::string& what) {
    return sys_error(ENOBUFS, what + ": the kernel's answer was lost")
        .advise("try again: the machine is short of memory");
}

// Connects to the kernel. Other processes with CAP_NET_ADMIN in the socket's namespace, as
// containers have, could write to it. From now on they get ECONNREFUSED (netlink_getsockbyportid).
// Their multicast still comes, hence the check of the sender.
Result<> connect_to_kernel(int fd) {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) != 0)
        return sys_error("connect a netlink socket to the kernel");
    return {};
}
}  // namespace

Result<Socket> Socket::open(const Netns& ns, int protocol) {
    UniqueFd fd;
    TRY(inside(ns, [&]() -> Result<> {
        fd.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
        if (!fd)
            return sys_error("open a netlink socket");
        return {};
    }));
    const int on = 1;
    for (const int option : {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK}) {
        if (option == NETLINK_GET_STRICT_CHK && protocol != NETLINK_ROUTE)
            continue;  // other protocols are always strict, or never
        if (::setsockopt(fd.get(), SOL_NETLINK, option, &on, sizeof on) != 0)
            return sys_error("set netlink option " + std::to_string(option));
    }
    TRY(connect_to_kernel(fd.get()));
    return Socket{std::move(fd)};
}

Result<> Socket::send(Request& message, const std::string& what) {
    if (!message.complete())
        return make_error(Code::Internal, what + ": the request does not fit a message");
    message.raw()->nlmsg_seq = ++sequence_;
    for (;;) {
        if (::send(fd_.get(), message.raw(), message.raw()->nlmsg_len, 0) >= 0)
            return {};
        if (errno != EINTR)
            return sys_error(what);
    }
}

Result<> Socket::wait_readable(Deadline deadline, const std::string& what) const {
    for (;;) {
        pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        const int count = ::poll(&ready, 1, deadline.left_ms());
        if (count > 0)
            return {};
        if (count == 0)
            return late(what);
        if (errno != EINTR)
            return sys_error(what);
    }
}

// Receives one datagram of the kernel into the buffer. Returns its size; 0 if datagrams were lost.
// A datagram that was too large is lost, and fits the next time.
Result<size_t> Socket::receive(Deadline deadline, const std::string& what) {
    for (;;) {
        sockaddr_nl sender{};
        socklen_t length = sizeof sender;
        const ssize_t got = ::recvfrom(fd_.get(),
                                       buffer().data(),
                                       buffer().size(),
                                       MSG_TRUNC | MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr*>(&sender),
                                       &length);
        if (got < 0 && errno == ENOBUFS)
            return size_t{0};
        if (got < 0 && errno == EAGAIN) {  // only now: mostly the answer is there already
            TRY(wait_readable(deadline, what));
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sys_error(what);
        if (static_cast<size_t>(got) > kLargestBuffer)
            return malformed(what);
        if (static_cast<size_t>(got) > buffer().size()) {
            (void)buffer(static_cast<size_t>(got));
            return size_t{0};
        }
        // Other processes may multicast to the joined groups: only the kernel is heard.
        if (sender.nl_pid == 0 && got > 0)
            return static_cast<size_t>(got);
        // Foreign datagrams may never end, and then nothing above waits for the deadline.
        if (deadline.passed())
            return late(what);
    }
}

// After a loss the kernel sends nothing until all that it sent before is read.
void Socket::drain(Deadline deadline) {
    while (!deadline.passed() &&
           (::recv(fd_.get(), buffer().data(), buffer().size(), MSG_DONTWAIT) >= 0 ||
            errno == ENOBUFS || errno == EINTR)) {
    }
}

// Collects the answer to the last request until its end.
Result<Socket::Round> Socket::collect(std::vector<Reply>& replies,
                                      Ends ends,
                                      const std::string& what) {
    Round round = Round::Complete;
    const Deadline deadline = Deadline::in(kAnswerTime);
    for (;;) {
        const size_t size = TRY(receive(deadline, what));
        if (size == 0) {
            drain(deadline);
            return Round::Interrupted;
        }
        const auto messages = split_datagram(Bytes{buffer()}.first(size));
        if (!messages)
            return malformed(what);
        for (const auto& message : *messages) {
            if (message.sequence != sequence_)  // a late answer to an abandoned request
                continue;
            if ((message.flags & NLM_F_DUMP_INTR) != 0)
                round = Round::Interrupted;
            if (message.type == NLMSG_ERROR || message.type == NLMSG_DONE) {
                const auto outcome =
                    message.type == NLMSG_ERROR ? parse_ack(message) : parse_done(message);
                if (!outcome)
                    return malformed(what);
                if (outcome->error != 0)
                    return refused(what, *outcome);
                return round;
            }
            replies.push_back({message.type, {message.payload.begin(), message.payload.end()}});
            if (ends == Ends::WithReply)
                return round;
        }
        if (deadline.passed())
            return late(what);
    }
}

Result<> Socket::request(Request& message, const std::string& what) {
    message.raw()->nlmsg_flags |= NLM_F_ACK;
    TRY(send(message, what));
    std::vector<Reply> replies;
    // Not repeated: the kernel may have done it.
    if (TRY(collect(replies, Ends::WithAck, what)) == Round::Interrupted)
        return lost(what);
    return {};
}

Result<Reply> Socket::get(Request& message, const std::string& what) {
    for (int i = 0; i < kMaxRounds; ++i) {
        TRY(send(message, what));
        std::vector<Reply> replies;
        (void)TRY(collect(replies, Ends::WithReply, what));
        if (!replies.empty())
            return std::move(replies.front());
    }
    return lost(what);
}

Result<std::vector<Reply>> Socket::dump(Request& message, const std::string& what) {
    message.raw()->nlmsg_flags |= NLM_F_DUMP;
    for (int i = 0; i < kMaxRounds; ++i) {
        TRY(send(message, what));
        std::vector<Reply> replies;
        if (TRY(collect(replies, Ends::WithAck, what)) == Round::Complete)
            return replies;
    }
    return make_error(Code::Timeout, what + ": the kernel's list kept changing while it was read")
        .advise("try again: the host makes or removes many interfaces");
}

Result<std::string> Socket::link_name(uint32_t index) {
    ifreq request{};
    request.ifr_ifindex = static_cast<int>(index);
    if (::ioctl(fd_.get(), SIOCGIFNAME, &request) == 0)
        return std::string(request.ifr_name, ::strnlen(request.ifr_name, sizeof request.ifr_name));
    return link_error("name link " + std::to_string(index));
}

Result<uint32_t> Socket::receive_rules(const std::string& link) {
    ethtool_rxnfc rules{};
    rules.cmd = ETHTOOL_GRXCLSRLCNT;
    ifreq request{};
    link.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_data = reinterpret_cast<char*>(&rules);
    if (::ioctl(fd_.get(), SIOCETHTOOL, &request) == 0)
        return rules.rule_cnt;
    if (errno == EOPNOTSUPP)
        return 0U;
    return link_error("count the receive rules of link " + base::printable(link));
}

Result<> Socket::join(unsigned group) {
    if (::setsockopt(fd_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
        return sys_error("join netlink group " + std::to_string(group));
    return {};
}

Result<bool> Socket::heard(int wait_ms) {
    const auto deadline = Deadline::in(std::chrono::milliseconds(wait_ms));
    auto size = receive(deadline, "listen for netlink events");
    if (!size && size.error().code == Code::Timeout)
        return false;
    (void)TRY(std::move(size));
    return true;
}

Result<Socket*> Sockets::get(const Netns& ns) {
    const auto found = std::find_if(
        entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == ns.id(); });
    if (found != entries_.end()) {
        std::rotate(entries_.begin(), found, found + 1);
    } else {
        entries_.insert(entries_.begin(), Entry{ns.id(), TRY(Socket::open(ns, protocol_))});
        if (entries_.size() > kMaxSockets)
            entries_.pop_back();
    }
    return &entries_.front().socket;
}

}  // namespace netns::netlink
