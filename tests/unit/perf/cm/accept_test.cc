// SPDX-License-Identifier: Apache-2.0
// The server's side of rdma_cm, over the fake: strangers, clients that vanish, and what ends a
// wait.
#include <cerrno>
#include <thread>

#include <sys/socket.h>

#include "perf/protocol/message.h"
#include "tests/unit/perf/cm/fixture.h"

namespace perf {
namespace {

using base::Code;
using base::Error;
using test::FakeCm;
using namespace std::chrono_literals;

using CmBytes = std::vector<std::byte>;

CmBytes tagged(uint64_t nonce, uint16_t lane) {
    const auto wire = encode(CmTag{.nonce = nonce, .lane = lane});
    return {wire.begin(), wire.end()};
}

class CmServer : public CmEveryTransport {
  protected:
    // How accept() of one lane ends when nobody of ours comes.
    Error failed(const CmWait& how) {
        CmEnd end(verbs_);
        CmListener listener = listen();
        const auto lanes = accept(listener, {&end}, how).get();
        EXPECT_FALSE(lanes);
        return lanes ? Error{} : lanes.error();
    }
};

INSTANTIATE_TEST_SUITE_P(Cm, CmServer, testing::Bool(), transport_name);

TEST_P(CmServer, RejectsStrangersAndGoesOn) {
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    const CmTicket ticket = listener.ticket();
    CmBytes old_version = tagged(ticket.nonce, 0);
    old_version[5] = std::byte{2};
    CmBytes other_program = tagged(ticket.nonce, 0);
    other_program[0] = std::byte{'X'};
    // On RoCE it arrives with zeros behind it, and so with a wrong nonce.
    CmBytes too_short = tagged(ticket.nonce, 0);
    too_short.resize(8);
    const CmBytes strangers[] = {CmBytes{},
                                 too_short,
                                 other_program,
                                 old_version,
                                 tagged(ticket.nonce + 1, 0),
                                 tagged(ticket.nonce, 1),
                                 tagged(ticket.nonce, 0xffff)};
    for (const CmBytes& data : strangers)
        cm_.knock(ticket.port, data);
    auto accepted = accept(listener, {&server}, wait());
    const auto connection = connect(client, ticket, 0, wait());
    EXPECT_TRUE(connection) << connection.error().message();
    EXPECT_TRUE(accepted.get());
    EXPECT_EQ(cm_.rejected(), std::size(strangers));
}

TEST_P(CmServer, ALaneIsTakenOnce) {
    CmEnd clients[] = {CmEnd(verbs_), CmEnd(verbs_), CmEnd(verbs_)};
    CmEnd servers[] = {CmEnd(verbs_), CmEnd(verbs_)};
    CmListener listener = listen();
    auto accepted = accept(listener, {&servers[0], &servers[1]}, wait());
    const auto first = connect(clients[0], listener.ticket(), 0, wait());
    ASSERT_TRUE(first) << first.error().message();
    const auto again = connect(clients[1], listener.ticket(), 0, wait());
    ASSERT_FALSE(again);
    expect_error(again.error(), Code::Unavailable, "rejected");
    const auto second = connect(clients[2], listener.ticket(), 1, wait());
    EXPECT_TRUE(second) << second.error().message();
    EXPECT_TRUE(accepted.get());
}

TEST_P(CmServer, EndlessStrangersDoNotMoveTheDeadline) {
    CmEnd end(verbs_);
    CmListener listener = listen();
    cm_.knock(listener.ticket().port, tagged(listener.ticket().nonce + 1, 0), true);
    const auto lanes = accept(listener, {&end}, wait(100ms)).get();
    ASSERT_FALSE(lanes);
    expect_error(lanes.error(), Code::Timeout, "0 of 1 lanes connected");
    EXPECT_GT(cm_.rejected(), 1U);
}

TEST_P(CmServer, WaitsNoLongerThanItsDeadline) {
    expect_error(failed(wait(30ms)), Code::Timeout, "wait for the client by rdma_cm on port 4711");
}

TEST_P(CmServer, EndsWithTheStop) {
    stop_.request();
    EXPECT_EQ(failed(wait()).sys, ECANCELED);
}

TEST_P(CmServer, EndsWithTheControlConnection) {
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    const base::UniqueFd own(fds[0]);
    base::UniqueFd(fds[1]).reset();
    CmWait how = wait();
    how.control = own.get();
    expect_error(failed(how), Code::Unavailable, "the peer closed the control connection");
}

TEST_P(CmServer, ADeviceThatGoesEndsTheWait) {
    cm_.answer(RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
    CmEnd end(verbs_);
    CmListener listener = listen();
    cm_.knock(listener.ticket().port, {});
    const auto lanes = accept(listener, {&end}, wait()).get();
    ASSERT_FALSE(lanes);
    expect_error(lanes.error(), Code::Unsupported, "the RDMA device was removed");
}

TEST_P(CmServer, AClientThatVanishesEndsTheWait) {
    CmEnd client(verbs_);
    CmEnd servers[] = {CmEnd(verbs_), CmEnd(verbs_)};
    CmListener listener = listen();
    auto accepted = accept(listener, {&servers[0], &servers[1]}, wait());
    {
        const auto connection = connect(client, listener.ticket(), 0, wait());
        EXPECT_TRUE(connection) << connection.error().message();
    }
    const auto lanes = accepted.get();
    ASSERT_FALSE(lanes);
    expect_error(lanes.error(), Code::Unavailable, "the peer closed the connection");
}

TEST_P(CmServer, AConnectionThatIsNotConfirmedEndsTheWait) {
    cm_.answer(RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET);
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    (void)connect(client, listener.ticket(), 0, wait());
    const auto lanes = accepted.get();
    ASSERT_FALSE(lanes);
    expect_error(lanes.error(), Code::Unavailable, "the connection failed while it was made");
}

TEST_P(CmServer, WhatItCannotAcceptIsSaidOnBothSides) {
    cm_.fail(FakeCm::Call::Accept, ENOMEM);
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    const auto connection = connect(client, listener.ticket(), 0, wait());
    const auto lanes = accepted.get();
    ASSERT_FALSE(lanes);
    expect_error(lanes.error(), Code::Kernel, "accept lane 0 by rdma_cm: accept the connection");
    ASSERT_FALSE(connection);
    expect_error(connection.error(), Code::Unavailable, "rejected");
}

TEST_F(CmTest, AQueuePairThatCannotReachTheClientIsSaidOnBothSides) {
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    std::vector<CmQueue> queues = {server.queue()};  // still in RESET: no way to RTR
    auto accepted = std::async(std::launch::async, [&] { return listener.accept(queues, wait()); });
    const auto connection = connect(client, listener.ticket(), 0, wait());
    const auto lanes = accepted.get();
    ASSERT_FALSE(lanes);
    expect_error(lanes.error(), Code::Kernel, "to RTR: Invalid argument");
    EXPECT_THAT(lanes.error().message(), testing::HasSubstr("GID index 1, path MTU 1024"));
    ASSERT_FALSE(connection);
    expect_error(connection.error(), Code::Unavailable, "rejected");
}

TEST_P(CmServer, CannotListen) {
    cm_.fail(FakeCm::Call::Listen, EADDRINUSE);
    const auto listener = CmListener::open(cm_, {address(), "rdma0"});
    ASSERT_FALSE(listener);
    expect_error(listener.error(), Code::Kernel, "listen by rdma_cm on 10.9.0.1", "try again");
}

TEST_P(CmServer, EachListenerHasATicketOfItsOwn) {
    const CmListener first = listen();
    const CmListener second = listen();
    EXPECT_NE(first.ticket().port, second.ticket().port);
    EXPECT_NE(first.ticket().nonce, second.ticket().nonce);
}

}  // namespace
}  // namespace perf
