// SPDX-License-Identifier: Apache-2.0
// perf/verbs/cm/ with librdmacm and the kernel: two queue pairs of one process in two network namespaces
// that have a device each, of the same kind (cm_world.h).
#include <cstdio>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/contract/cm_world.h"

namespace test {
namespace {

using Clock = std::chrono::steady_clock;

TEST_F(CmContract, AnAddressHasItsDevice) {
    for (const auto& place : {server_, client_}) {
        const auto device =
            in_netns(*place, [&] { return perf::cm_device_of(system_cm(), place->address); }).get();
        ASSERT_TRUE(device) << device.error().message();
        EXPECT_EQ(device->device, place->device);
        EXPECT_EQ(device->port, 1);
        EXPECT_EQ(device->iwarp, place->device.starts_with("siw"));
        EXPECT_EQ(device->gid == place->address, !device->iwarp) << device->gid.gid_text();
    }
}

TEST_F(CmContract, AnAddressOfAnotherNamespaceHasNone) {
    const auto device =
        in_netns(*client_, [&] { return perf::cm_device_of(system_cm(), server_->address); }).get();
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().sys, EADDRNOTAVAIL) << device.error().message();
    EXPECT_NE(device.error().fix, "");
}

TEST_F(CmContract, MessagesFlowBothWaysOnEachLane) {
    End client[] = {End(*client_), End(*client_)};
    End server[] = {End(*server_), End(*server_)};
    CmListener listener = listen();
    auto accepted = accept(listener, {&server[0], &server[1]}, wait());
    std::vector<CmConnection> connections;
    for (const uint16_t lane : {uint16_t{1}, uint16_t{0}}) {
        auto connection = connect(client[lane], server_->address, listener.ticket(), lane, wait());
        ASSERT_TRUE(connection) << connection.error().message();
        connections.push_back(std::move(connection).value());
    }
    const auto lanes = accepted.get();
    ASSERT_TRUE(lanes) << lanes.error().message();
    for (unsigned lane = 0; lane < 2; ++lane) {
        client[lane].send(3 + lane);
        client[lane].expect_completion(IBV_WC_SEND);
        server[lane].expect_completion(IBV_WC_RECV);
        server[lane].expect_bytes(3 + lane);
        client[lane].post_receive();
        server[lane].send(90 + lane);
        server[lane].expect_completion(IBV_WC_SEND);
        client[lane].expect_completion(IBV_WC_RECV);
        client[lane].expect_bytes(90 + lane);
    }
    if (!iwarp()) {
        EXPECT_NE(server[0].attributes().dest_qp_num, server[1].attributes().dest_qp_num);
        EXPECT_GE(server[0].attributes().path_mtu, IBV_MTU_1024);
    }
}

// Whatever goes first, nothing waits for ever and nothing is left.
TEST_F(CmContract, ConnectionsAndQueuePairsGoInAnyOrder) {
    for (unsigned order = 0; order < 4; ++order) {
        SCOPED_TRACE(order);
        End client(*client_);
        End server(*server_);
        Pair pair = make_pair(client, server);
        ASSERT_TRUE(pair.client);
        client.send(order);
        server.expect_completion(IBV_WC_RECV);
        auto& first_end = (order & 1U) != 0 ? client : server;
        auto& first = (order & 1U) != 0 ? pair.client : pair.server;
        if ((order & 2U) != 0)
            first_end.destroy_queue_pair();
        first.reset();
        pair.client.reset();
        pair.server.reset();
    }
}

TEST_F(CmContract, NobodyListens) {
    End client(*client_);
    const auto connection = connect(client, server_->address, {.port = 9, .nonce = 1}, 0, wait());
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, Code::Unavailable) << connection.error().message();
    EXPECT_THAT(connection.error().message(),
                testing::HasSubstr(iwarp() ? "refused" : "nobody listens at that port there"));
}

TEST_F(CmContract, NoRouteLeadsThere) {
    End client(*client_);
    const auto nowhere = perf::parse_address("203.0.113.9").value();
    const auto connection =
        connect(client, nowhere, {.port = 9, .nonce = 1}, 0, wait(milliseconds(500)));
    ASSERT_FALSE(connection);
    // The kernel takes every address to be on the link of an id that is bound.
    EXPECT_THAT(connection.error().fix, testing::HasSubstr("no ARP or neighbour answer"))
        << connection.error().message();
}

TEST_F(CmContract, StrangersAreRejectedAndTheWaitGoesOn) {
    End client(*client_);
    End stranger(*client_);
    End server(*server_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    CmTicket ticket = listener.ticket();
    ++ticket.nonce;
    const auto wrong = connect(stranger, server_->address, ticket, 0, wait());
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), testing::HasSubstr("the peer rejected the connection"));
    // Soft-iWARP listens with TCP: somebody who speaks something else, and stays.
    const auto telnet =
        in_netns(*client_, [&] {
            const int family = server_->address.is_v4() ? AF_INET : AF_INET6;
            base::UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
            perf::SocketAddress there(server_->address, ticket.port);
            const bool connected = ::connect(fd.get(), there.get(), there.length) == 0;
            EXPECT_EQ(connected, iwarp());
            EXPECT_EQ(::send(fd.get(), "hello\n", 6, MSG_NOSIGNAL), connected ? 6 : -1);
            return fd;
        }).get();
    const auto right = connect(client, server_->address, listener.ticket(), 0, wait());
    EXPECT_TRUE(right) << right.error().message();
    EXPECT_TRUE(accepted.get());
}

// A server that is there and never answers: ends with the deadline. Soft-iWARP's kernel lets an id
// go only when its own limit for the peer's answer has passed.
TEST_F(CmContract, AServerThatNeverAnswers) {
    End client(*client_);
    const CmListener listener = listen();
    const auto begin = Clock::now();
    const auto connection =
        connect(client, server_->address, listener.ticket(), 0, wait(seconds(2)));
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, Code::Timeout) << connection.error().message();
    std::printf("# took %d ms\n", static_cast<int>(took.count()));
    EXPECT_LT(took, seconds(40));
}

TEST_F(CmContract, AServerWaitsNoLongerThanItsDeadline) {
    End server(*server_);
    CmListener listener = listen();
    const auto lanes = accept(listener, {&server}, wait(milliseconds(200))).get();
    ASSERT_FALSE(lanes);
    EXPECT_EQ(lanes.error().code, Code::Timeout) << lanes.error().message();
}

// ---- behind a firewall --------------------------------------------------------------------------
TEST_F(CmSilent, TheAttemptEndsWithItsDeadline) {
    End client(*client_);
    const CmListener listener = listen();
    const auto begin = Clock::now();
    const auto connection =
        connect(client, server_->address, listener.ticket(), 0, wait(seconds(2)));
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, Code::Timeout) << connection.error().message();
    std::printf("# took %d ms\n", static_cast<int>(took.count()));
    EXPECT_LT(took, seconds(20));
}

TEST_F(CmSilent, TheAttemptEndsWithTheStop) {
    End client(*client_);
    const CmListener listener = listen();
    // Soft-iWARP sleeps within the call that connects, the others wait for an event.
#ifdef SYS_poll
    constexpr int kPoll = SYS_poll;
#else
    constexpr int kPoll = SYS_ppoll;  // arm64's only one
#endif
    const int call = iwarp() ? SYS_write : kPoll;
    const std::jthread stopper([this, call] {
        EXPECT_TRUE(wait_for_sleep(call));
        stop_.request();
    });
    const auto connection = connect(client, server_->address, listener.ticket(), 0, wait());
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().sys, ECANCELED) << connection.error().message();
}

}  // namespace
}  // namespace test
