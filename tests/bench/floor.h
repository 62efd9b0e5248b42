// SPDX-License-Identifier: Apache-2.0
// What both floors are made of: netlink by hand, with no library but the C one.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace floor_of {
inline constexpr uint32_t kLinkIndex = (1U << 20U) + 77;
inline constexpr uint16_t kRocePort = 4791;

[[noreturn]] inline void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

inline int must(int result, const char* what) {
    if (result < 0)
        die(what);
    return result;
}

// One request: a header, the protocol's header, attributes.
class Message {
  public:
    Message(int type, int flags) {
        head()->nlmsg_len = NLMSG_HDRLEN;
        head()->nlmsg_type = static_cast<uint16_t>(type);
        head()->nlmsg_flags = static_cast<uint16_t>(flags | NLM_F_REQUEST);
    }

    nlmsghdr* head() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }

    void append(const void* data, size_t size) {
        std::memcpy(bytes_.data() + head()->nlmsg_len, data, size);
        head()->nlmsg_len += NLMSG_ALIGN(static_cast<uint32_t>(size));
    }

    void put(int type, const void* data, size_t size) {
        const nlattr head{.nla_len = static_cast<uint16_t>(NLA_HDRLEN + size),
                          .nla_type = static_cast<uint16_t>(type)};
        append(&head, sizeof head);
        append(data, size);
    }

    void put(int type, uint32_t value) { put(type, &value, sizeof value); }

    void put(int type, const char* text) { put(type, text, std::strlen(text) + 1); }

    uint32_t begin(int type) {
        const uint32_t at = head()->nlmsg_len;
        put(type, nullptr, 0);
        return at;
    }

    void end(uint32_t at) {
        reinterpret_cast<nlattr*>(bytes_.data() + at)->nla_len =
            static_cast<uint16_t>(head()->nlmsg_len - at);
    }

  private:
    alignas(8) std::array<char, 1024> bytes_{};
};

class Socket {
  public:
    Socket(int ns, int home, int protocol) {
        if (ns != home)
            must(setns(ns, CLONE_NEWNET), "setns");
        fd_ = must(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), "netlink socket");
        if (ns != home)
            must(setns(home, CLONE_NEWNET), "setns");
        const int on = 1;
        for (const int option : {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK})
            must(setsockopt(fd_, SOL_NETLINK, option, &on, sizeof on), "setsockopt");
    }

    // Sends, reads to the end; copies the wanted attribute of the first answer that has it. The
    // attributes begin after a header of `skip` bytes.
    size_t ask(Message& message,
               const char* what,
               int wanted = -1,
               size_t skip = 0,
               void* out = nullptr,
               size_t room = 0) {
        const bool dump = (message.head()->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
        if (!dump)
            message.head()->nlmsg_flags |= NLM_F_ACK;
        message.head()->nlmsg_seq = ++sequence_;
        must(static_cast<int>(send(fd_, message.head(), message.head()->nlmsg_len, 0)), what);
        size_t found = 0;
        for (;;) {
            const ssize_t got = recv(fd_, answer_.data(), answer_.size(), 0);
            must(static_cast<int>(got), what);
            auto left = static_cast<int>(got);
            for (auto* each = reinterpret_cast<nlmsghdr*>(answer_.data()); NLMSG_OK(each, left);
                 each = NLMSG_NEXT(each, left)) {
                if (each->nlmsg_type == NLMSG_DONE)
                    return found;
                if (each->nlmsg_type == NLMSG_ERROR) {
                    errno = -static_cast<nlmsgerr*>(NLMSG_DATA(each))->error;
                    if (errno != 0)
                        die(what);
                    return found;
                }
                if (wanted >= 0 && found == 0)
                    found = find(each, wanted, skip, out, room);
            }
        }
    }

  private:
    static size_t find(nlmsghdr* message, int wanted, size_t skip, void* out, size_t room) {
        auto* at = static_cast<char*>(NLMSG_DATA(message)) + NLMSG_ALIGN(skip);
        const char* stop = reinterpret_cast<char*>(message) + message->nlmsg_len;
        while (at + NLA_HDRLEN <= stop) {
            const auto* attribute = reinterpret_cast<nlattr*>(at);
            if (attribute->nla_len < NLA_HDRLEN) {
                errno = EBADMSG;
                die("attributes of an answer");
            }
            if ((attribute->nla_type & NLA_TYPE_MASK) == wanted) {
                const size_t size = attribute->nla_len - static_cast<size_t>(NLA_HDRLEN);
                std::memcpy(out, at + NLA_HDRLEN, size < room ? size : room);
                return size;
            }
            at += NLA_ALIGN(attribute->nla_len);
        }
        return 0;
    }

    int fd_ = -1;
    uint32_t sequence_ = 0;
    alignas(8) std::array<char, 65536> answer_;
};

inline Message nldev(int command, int flags = 0) {
    return {RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags};
}

inline Message nldev_on(int command, uint32_t device, int flags = 0) {
    Message message = nldev(command, flags);
    message.put(RDMA_NLDEV_ATTR_DEV_INDEX, device);
    return message;
}

inline Message get_link(uint32_t index, const char* name) {
    Message message{RTM_GETLINK, 0};
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(index);
    message.append(&header, sizeof header);
    message.put(IFLA_EXT_MASK, uint32_t{RTEXT_FILTER_SKIP_STATS});
    if (name != nullptr)
        message.put(IFLA_IFNAME, name);
    return message;
}

inline void add_address(Socket& route, in_addr address, int prefix) {
    Message message{RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL};
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = static_cast<uint8_t>(prefix);
    header.ifa_index = kLinkIndex;
    message.append(&header, sizeof header);
    message.put(IFA_LOCAL, &address, sizeof address);
    message.put(IFA_ADDRESS, &address, sizeof address);
    route.ask(message, "add address");
}

inline bool is_port_served(int ns, int home) {
    must(setns(ns, CLONE_NEWNET), "setns");
    const int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "UDP socket");
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(kRocePort);
    const bool taken = bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0;
    close(fd);
    must(setns(home, CLONE_NEWNET), "setns");
    return taken;
}

inline bool has_gid(const char* device, in_addr address) {
    std::array<char, 128> path{};
    std::array<char, 64> wanted{};
    std::array<char, 64> text{};
    const uint32_t number = ntohl(address.s_addr);
    std::snprintf(wanted.data(),
                  wanted.size(),
                  "0000:0000:0000:0000:0000:ffff:%04x:%04x\n",
                  number >> 16U,
                  number & 0xffffU);
    for (int index = 0; index < 8; ++index) {
        std::snprintf(
            path.data(), path.size(), "/sys/class/infiniband/%s/ports/1/gids/%d", device, index);
        const int fd = must(open(path.data(), O_RDONLY | O_CLOEXEC), path.data());
        const ssize_t got = read(fd, text.data(), text.size() - 1);
        close(fd);
        text.at(static_cast<size_t>(got < 0 ? 0 : got)) = '\0';
        if (std::strcmp(text.data(), wanted.data()) == 0)
            return true;
    }
    return false;
}

inline void wait_for_gid(const char* device, in_addr address) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
    for (int round = 0; round < 5000; ++round) {
        if (has_gid(device, address))
            return;
        nanosleep(&pause, nullptr);
    }
    errno = ETIMEDOUT;
    die("wait for the GID");
}

inline void ask_chardev(Socket& rdma, Message message, const char* type) {
    std::array<char, 32> name{};
    message.put(RDMA_NLDEV_ATTR_CHARDEV_TYPE, type);
    if (rdma.ask(message, type, RDMA_NLDEV_ATTR_CHARDEV_NAME, 0, name.data(), name.size()) == 0)
        die(type);
}

// The device's index; the hook asks for it twice in an attach, and once in a detach.
inline uint32_t find_device(Socket& rdma) {
    uint32_t device = 0;
    uint32_t netdev = 0;
    Message list = nldev(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
    rdma.ask(list, "list RDMA devices", RDMA_NLDEV_ATTR_DEV_INDEX, 0, &device, sizeof device);
    Message port = nldev_on(RDMA_NLDEV_CMD_PORT_GET, device);
    port.put(RDMA_NLDEV_ATTR_PORT_INDEX, uint32_t{1});
    rdma.ask(port, "ask for the port", RDMA_NLDEV_ATTR_NDEV_INDEX, 0, &netdev, sizeof netdev);
    if (netdev != kLinkIndex) {
        errno = EBUSY;
        die("there is another RDMA device: the floor knows one only");
    }
    return device;
}

// The rxe over `rdma0` in the container, proved and asked for as the hook does.
inline uint32_t make_rxe(
    Socket& rdma, Socket& inner_rdma, int target, int home, const char* name, in_addr address) {
    Message add = nldev(RDMA_NLDEV_CMD_NEWLINK);
    add.put(RDMA_NLDEV_ATTR_DEV_NAME, name);
    add.put(RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
    add.put(RDMA_NLDEV_ATTR_NDEV_NAME, "rdma0");
    inner_rdma.ask(add, "add the RDMA link");
    if (!is_port_served(target, home))
        die("UDP port 4791");
    const uint32_t device = find_device(inner_rdma);
    wait_for_gid(name, address);
    ask_chardev(inner_rdma, nldev_on(RDMA_NLDEV_CMD_GET_CHARDEV, device), "uverbs");
    ask_chardev(rdma, nldev(RDMA_NLDEV_CMD_GET_CHARDEV), "rdma_cm");
    return device;
}

inline void remove_rxe(Socket& inner_rdma, uint32_t device) {
    find_device(inner_rdma);
    Message users = nldev_on(RDMA_NLDEV_CMD_RES_CTX_GET, device, NLM_F_DUMP);
    inner_rdma.ask(users, "count the users");
    Message gone = nldev_on(RDMA_NLDEV_CMD_DELLINK, device);
    inner_rdma.ask(gone, "remove the RDMA link");
}

// Of floor_asap2.cc.
int attach_asap2(char** args);

}  // namespace floor_of
