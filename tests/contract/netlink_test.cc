// SPDX-License-Identifier: Apache-2.0
// Netlink where the kernel runs short: answers are lost (ENOBUFS), or there is no descriptor for a
// socket (EMFILE). Also: other processes in the namespace write to the sockets of the rooms.
#include <atomic>
#include <cerrno>
#include <map>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/base/clock.h"
#include "netns/base/unique_fd.h"
#include "netns/kernel/link_message.h"
#include "netns/kernel/netlink/socket.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

class Shortage : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = KernelOutside::missing(); !reason.empty())
            GTEST_SKIP() << reason;
    }
};

// A socket that hears events is flooded, as nothing else makes the kernel lose an answer at will.
TEST_F(Shortage, ALostAnswerIsAskedForAgain) {
    KernelOutside outside;
    const Netns ns = outside.container_ns();
    auto links = outside.host().links.list(ns).value();
    const uint32_t lo = links.front().index;
    auto socket = netns::netlink::Socket::open(ns, NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().message();
    const auto flood = [&] {
        for (int i = 0; i < 2000; ++i)
            ASSERT_TRUE(outside.host().links.change(ns, lo, {.alias = std::to_string(i)}));
    };
    ASSERT_TRUE(socket->join(RTNLGRP_LINK));
    flood();
    auto query = netns::link_query(lo);
    const auto reply = socket->get(query, "look up lo");
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(netns::parse_link(*reply)->index, lo);

    flood();
    auto all = netns::link_query(0);
    const auto list = socket->dump(all, "list links");
    ASSERT_TRUE(list) << list.error().message();
    EXPECT_EQ(list->size(), links.size());

    // A request that changes something is not repeated, and reports its failure.
    flood();
    auto change = netns::change_request(lo, {.alias = "last"}, std::nullopt);
    const Error done = error_of(socket->request(change, "change lo"));
    EXPECT_EQ(done.sys, ENOBUFS) << done.message();
    EXPECT_NE(done.message().find("try again"), std::string::npos);
    auto again = netns::change_request(lo, {.alias = "after"}, std::nullopt);
    EXPECT_TRUE(socket->request(again, "change lo")) << "the socket works on";
    EXPECT_EQ(outside.host().links.find(ns, lo).value()->alias, "after");
}

TEST_F(Shortage, WithoutDescriptorsItIsAnErrorAndNobodyIsLostInANamespace) {
    KernelOutside outside;
    const Netns ns = outside.container_ns();
    const auto own = netns::KernelNetnses::open_own().value().id();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int lowest = ::dup(STDERR_FILENO);  // that is free
    (void)::close(lowest);
    int refused = 0;
    bool done = false;
    for (rlim_t spare = 0; spare < 10 && !done; ++spare) {
        outside.settle();
        auto host = outside.host();
        rlimit few = before;
        few.rlim_cur = static_cast<rlim_t>(lowest) + spare;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        const auto links = host.links.list(ns);
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        done = links.has_value();
        if (done)
            break;
        ++refused;
        EXPECT_EQ(links.error().sys, EMFILE) << links.error().message();
        EXPECT_TRUE(host.links.list(ns)) << "the room works on";
    }
    EXPECT_TRUE(done) << "a few are enough";
    EXPECT_GE(refused, 1);
    EXPECT_EQ(netns::KernelNetnses::open_own().value().id(), own);
}

sockaddr_nl netlink_address(uint32_t port, uint32_t groups) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_pid = port;
    address.nl_groups = groups;
    return address;
}

// By descriptor, what the netlink sockets of this process are bound to.
std::map<int, uint32_t> netlink_ports() {
    std::map<int, uint32_t> ports;
    for (int fd = 0; fd < 256; ++fd) {
        sockaddr_nl own{};
        socklen_t length = sizeof own;
        if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
            own.nl_family == AF_NETLINK)
            ports[fd] = own.nl_pid;
    }
    return ports;
}

// A process in the namespace that has NET_ADMIN there, and a socket of ours that it can see.
class Neighbour : public Shortage {
  protected:
    void SetUp() override {
        Shortage::SetUp();
        if (IsSkipped())
            return;
        outside_.emplace();
        ns_.emplace(outside_->container_ns());
        lo_ = outside_->host().links.list(*ns_).value().front().index;
        ASSERT_TRUE(netns::inside(*ns_, [&]() -> base::Result<> {
            foreign_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
            return {};
        }));
        ASSERT_TRUE(foreign_);
    }

    // A message to nobody's harm; errno, or 0.
    int send_to(uint32_t port, uint32_t groups = 0) {
        nlmsghdr nothing{};
        nothing.nlmsg_len = sizeof nothing;
        nothing.nlmsg_type = NLMSG_NOOP;
        const sockaddr_nl to = netlink_address(port, groups);
        const ssize_t sent = ::sendto(foreign_.get(),
                                      &nothing,
                                      sizeof nothing,
                                      0,
                                      reinterpret_cast<const sockaddr*>(&to),
                                      sizeof to);
        return sent < 0 ? errno : 0;
    }

    std::optional<KernelOutside> outside_;
    std::optional<Netns> ns_;
    uint32_t lo_ = 0;
    base::UniqueFd foreign_;
};

TEST_F(Neighbour, CannotWriteToASocketOfOurs) {
    const auto before = netlink_ports();
    auto socket = netns::netlink::Socket::open(*ns_, NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().message();
    auto query = netns::link_query(lo_);
    ASSERT_TRUE(socket->get(query, "look up lo"));
    auto ours = netlink_ports();
    std::erase_if(ours, [&](const auto& port) { return before.contains(port.first); });
    ASSERT_EQ(ours.size(), 1U);
    EXPECT_EQ(send_to(ours.begin()->second), ECONNREFUSED);
    auto again = netns::link_query(lo_);
    EXPECT_TRUE(socket->get(again, "look up lo"));
}

TEST_F(Neighbour, IsNotHeardInAGroupAndTheKernelIs) {
    auto socket = netns::netlink::Socket::open(*ns_, NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().message();
    ASSERT_TRUE(socket->join(RTNLGRP_LINK));
    ASSERT_EQ(send_to(0, RTMGRP_LINK), 0);
    EXPECT_FALSE(socket->heard(0).value());
    ASSERT_EQ(send_to(0, RTMGRP_LINK), 0);
    ASSERT_TRUE(outside_->host().links.change(*ns_, lo_, {.alias = "heard"}));
    EXPECT_TRUE(socket->heard(10'000).value());
}

// The socket is never empty: only the clock ends it.
TEST_F(Neighbour, WhoFloodsAGroupKeepsNobody) {
    auto socket = netns::netlink::Socket::open(*ns_, NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().message();
    ASSERT_TRUE(socket->join(RTNLGRP_LINK));
    const auto limit = base::Deadline::in(std::chrono::seconds(20));
    std::atomic<bool> done = false;
    std::jthread flood([&] {
        while (!done && !limit.passed())
            (void)send_to(0, RTMGRP_LINK);
    });
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(socket->heard(10)) << "or what was lost is an event, too";
    EXPECT_FALSE(limit.passed());
    done = true;
}

}  // namespace
}  // namespace test
