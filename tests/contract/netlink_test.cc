// SPDX-License-Identifier: Apache-2.0
// What the rooms stand on, where the kernel runs short: answers that are lost (ENOBUFS), and no
// descriptor for a socket (EMFILE).
#include <cerrno>

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/resource.h>
#include <unistd.h>

#include "netns/link_message.h"
#include "netns/netlink/socket.h"
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

    // What changes something is not asked for again; it says why it failed.
    flood();
    auto change = netns::change_request(lo, {.alias = "last"}, std::nullopt);
    const auto done = socket->request(change, "change lo");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().sys, ENOBUFS) << done.error().message();
    EXPECT_NE(done.error().message().find("try again"), std::string::npos);
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

}  // namespace
}  // namespace test
