// SPDX-License-Identifier: Apache-2.0
// What ends the waits of a client of rdma_cm, over the fake.
#include <cerrno>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/perf/cm/fixture.h"

namespace perf {
namespace {

using base::Code;
using test::FakeCm;
using namespace std::chrono_literals;

class CmIwarpAttempt : public CmAttempt {
  protected:
    CmIwarpAttempt() : CmAttempt(true) {}
};

class CmHeldEvents : public CmAttempt, public testing::WithParamInterface<rdma_cm_event_type> {};

TEST_P(CmHeldEvents, EndWithTheDeadline) {
    cm_.hold(GetParam());
    expect_error(failed(50ms), Code::Timeout, "the deadline passed");
}

TEST_P(CmHeldEvents, EndWithTheStop) {
    cm_.hold(GetParam());
    const std::jthread stopper([&] {
        EXPECT_TRUE(cm_.wait_for_held());
        stop_.request();
    });
    EXPECT_EQ(failed().sys, ECANCELED);
}

TEST_P(CmHeldEvents, ThatComeLateAreStillRight) {
    cm_.hold(GetParam());
    const std::jthread releaser([&] {
        EXPECT_TRUE(cm_.wait_for_held());
        cm_.release();
    });
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    const auto connection = connect(client, listener.ticket(), 0, wait());
    EXPECT_TRUE(connection) << connection.error().message();
    EXPECT_TRUE(accepted.get());
}

TEST_P(CmHeldEvents, OfAnIdThatIsGoneAreNobodys) {
    cm_.hold(GetParam());
    expect_error(failed(50ms), Code::Timeout, "the deadline passed");
    cm_.release();
}

INSTANTIATE_TEST_SUITE_P(Cm,
                         CmHeldEvents,
                         testing::Values(RDMA_CM_EVENT_ADDR_RESOLVED,
                                         RDMA_CM_EVENT_ROUTE_RESOLVED,
                                         RDMA_CM_EVENT_CONNECT_REQUEST,
                                         RDMA_CM_EVENT_CONNECT_RESPONSE));

TEST_F(CmAttempt, EndsWithTheControlConnection) {
    cm_.hold(RDMA_CM_EVENT_CONNECT_RESPONSE);
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    const base::UniqueFd own(fds[0]);
    base::UniqueFd peer(fds[1]);
    ASSERT_EQ(::write(peer.get(), "x", 1), 1) << "what the peer says is no hang-up";
    const std::jthread closer([&] {
        EXPECT_TRUE(cm_.wait_for_held());
        peer.reset();
    });
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, {.timeout = 10s, .stop = server_stop_});
    CmWait how = wait();
    how.control = own.get();
    const auto connection = connect(client, listener.ticket(), 0, how);
    server_stop_.request();
    (void)accepted.get();
    ASSERT_FALSE(connection);
    expect_error(connection.error(), Code::Unavailable, "the peer closed the control connection");
}

// Soft-iWARP's connect() sleeps until TCP has a connection.
TEST_F(CmIwarpAttempt, ACallThatSleepsEndsWithTheDeadline) {
    cm_.block_connect();
    expect_error(failed(50ms), Code::Timeout, "the deadline passed");
}

TEST_F(CmIwarpAttempt, ACallThatSleepsEndsWithTheStop) {
    cm_.block_connect();
    stop_.request();
    EXPECT_EQ(failed().sys, ECANCELED);
}

TEST_F(CmIwarpAttempt, ASleepThatNobodyWantsToEndIsOver) {
    // Somebody else's signal: the wait goes on for its own reasons, the call does not.
    cm_.fail(FakeCm::Call::Connect, EINTR);
    expect_error(failed(), Code::Kernel, "ask for the connection: Interrupted system call");
}

}  // namespace
}  // namespace perf
