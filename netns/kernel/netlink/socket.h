// SPDX-License-Identifier: Apache-2.0
// A netlink socket of one protocol in one network namespace. It stays in the namespace in which it
// was opened, so all requests are made from outside. It asks the kernel for its own sentences
// (NETLINK_EXT_ACK, 4.12), and to refuse requests that it does not understand
// (NETLINK_GET_STRICT_CHK, 4.20). It is connected to the kernel: no process can write to it, except
// to the groups that it has joined. Private to netns/kernel/.
#pragma once

#include <cstdint>
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

    // Sends the request and waits for its acknowledgement. `what` names request and object in
    // errors.
    Result<> request(Request& message, const std::string& what);

    // Asks for one object: its description, or the error, is the whole answer. Repeats the request
    // if the answer was lost (ENOBUFS).
    Result<Reply> get(Request& message, const std::string& what);

    // Asks for a list; starts over if the list changed during the dump.
    Result<std::vector<Reply>> dump(Request& message, const std::string& what);

    // Returns the name of a link in the socket's namespace. Unavailable (ENODEV): no link has this
    // index. Any socket answers for its namespace (SIOCGIFNAME of netdevice(7)).
    Result<std::string> link_name(uint32_t index);

    // Returns the number of receive rules on the link (ETHTOOL_GRXCLSRLCNT, linux/ethtool.h); 0 if
    // its driver has no such rules.
    Result<uint32_t> receive_rules(const std::string& link);

    // Events of a multicast group: join, look at the state itself, then listen, for at most
    // `wait_ms` milliseconds. heard() returns whether there was an event, and discards all events.
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

// The sockets of one room, at most four. A socket keeps its namespace alive, so the least recently
// used one is closed.
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
    std::vector<Entry> entries_;  // the last used first
};

}  // namespace netns::netlink
