// SPDX-License-Identifier: Apache-2.0
// A netlink socket of one protocol in one network namespace. It stays in the namespace in which it
// was opened, so that everything after is done from outside. The kernel is asked for its own
// sentences (NETLINK_EXT_ACK, 4.12) and to refuse what it does not understand
// (NETLINK_GET_STRICT_CHK, 4.20). Connected to the kernel: nobody else can write to it, but to the
// groups that it has joined. Private to netns/.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/base/unique_fd.h"
#include "netns/kernel/netlink/message.h"
#include "netns/namespace.h"

namespace netns::netlink {

// A reply without its header.
struct Reply {
    uint16_t type = 0;
    std::vector<uint8_t> payload;
};

class Socket {
  public:
    static Result<Socket> open(const Netns& ns, int protocol);

    // Sends the request, asks for an acknowledgement and waits for it; gives what came before it.
    // `what` names request and object in the error.
    Result<std::vector<Reply>> request(Request& message, const std::string& what);

    // Asks for one object: its description, or the error, is the whole answer. Asks again if that
    // was lost (ENOBUFS).
    Result<Reply> get(Request& message, const std::string& what);

    // Asks for a list; begins again if it changed while it was told.
    Result<std::vector<Reply>> dump(Request& message, const std::string& what);

    // The name of a link of the socket's namespace; Unavailable (ENODEV) if there is none of
    // this index. Any socket answers for its namespace (SIOCGIFNAME of netdevice(7)).
    Result<std::string> link_name(uint32_t index);

    // How many receive rules the link has (ETHTOOL_GRXCLSRLCNT, linux/ethtool.h); 0 if its driver
    // knows none.
    Result<uint32_t> receive_rules(const std::string& link);

    // Events of a multicast group: join, look at the state itself, then listen, for so long at
    // most. What the events say matters less than that there are some; they are taken away.
    Result<> join(unsigned group);
    Result<bool> heard(int wait_ms);

  private:
    enum class Round { Complete, Interrupted };
    enum class Ends { WithReply, WithAck };

    explicit Socket(base::UniqueFd fd) : fd_(std::move(fd)) {}

    Result<> send(Request& message, const std::string& what);
    [[nodiscard]] Result<> wait_readable(base::Deadline deadline, const std::string& what) const;
    Result<size_t> receive(base::Deadline deadline, const std::string& what);
    void drain(base::Deadline deadline);
    Result<Round> collect(std::vector<Reply>& replies, Ends ends, const std::string& what);

    base::UniqueFd fd_;
    uint32_t sequence_ = 0;
};

// The sockets of one room, at most four: a socket keeps its namespace alive, so the one not used
// for longest is closed.
class Sockets {
  public:
    explicit Sockets(int protocol) : protocol_(protocol) {}

    // Valid until the next call.
    Result<Socket*> get(const Netns& ns);

  private:
    struct Entry {
        NetnsId id;
        Socket socket;
    };

    int protocol_;
    std::deque<Entry> entries_;
};

}  // namespace netns::netlink
