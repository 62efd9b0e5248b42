// SPDX-License-Identifier: Apache-2.0
// The client's side of rdma_cm, over the fake: what it needs from the library, the order of events
// of each transport, and everything that can fail. What ends a wait: wait_test.cc.
#include <cerrno>

#include "tests/unit/perf/cm/fixture.h"

namespace perf {
namespace {

using base::Code;
using base::Error;
using test::FakeCm;
using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(Cm, CmEveryTransport, testing::Bool(), transport_name);

TEST_P(CmEveryTransport, ConnectsLanesInAnyOrderAndCarriesMessages) {
    CmEnd client[] = {CmEnd(verbs_), CmEnd(verbs_), CmEnd(verbs_)};
    CmEnd server[] = {CmEnd(verbs_), CmEnd(verbs_), CmEnd(verbs_)};
    CmListener listener = listen();
    EXPECT_EQ(listener.ticket().confirm, GetParam());
    auto accepted = accept(listener, {&server[0], &server[1], &server[2]}, wait());
    std::vector<CmConnection> connections;
    for (const uint16_t lane : {uint16_t{2}, uint16_t{0}, uint16_t{1}}) {
        auto connection = connect(client[lane], listener.ticket(), lane, wait());
        ASSERT_TRUE(connection) << connection.error().message();
        connections.push_back(std::move(connection).value());
    }
    const auto lanes = accepted.get();
    ASSERT_TRUE(lanes) << lanes.error().message();
    EXPECT_EQ(lanes->size(), 3U);
    for (size_t lane = 0; lane < 3; ++lane) {
        const auto value = static_cast<std::byte>(0x40 + lane);
        server[lane].post_receive();
        client[lane].send(value);
        client[lane].expect_completion(IBV_WC_SEND);
        server[lane].expect_completion(IBV_WC_RECV);
        EXPECT_THAT(server[lane].buffer(), testing::Each(value));
    }
}

TEST_P(CmEveryTransport, SaysWhichDeviceAnAddressHas) {
    const auto device = cm_device_of(cm_, address());
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_EQ(device->device, "rdma0");
    EXPECT_EQ(device->port, 1);
    EXPECT_EQ(device->iwarp, GetParam());
    EXPECT_EQ(device->gid, address());
}

TEST_P(CmEveryTransport, DisconnectsAtItsEnd) {
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    auto connection = connect(client, listener.ticket(), 0, wait());
    ASSERT_TRUE(connection && accepted.get());
    EXPECT_EQ(cm_.disconnects(), 1U) << "the server's, which was thrown away";
    {
        const CmConnection last = std::move(connection).value();
        EXPECT_EQ(cm_.disconnects(), 1U) << "moving is no end";
    }
    EXPECT_EQ(cm_.disconnects(), 2U);
}

TEST_P(CmEveryTransport, AnotherDeviceThanTheQueuePairsIsRefused) {
    const auto opened = CmConnection::open(cm_, {address(), "rdma1"});
    ASSERT_FALSE(opened);
    expect_error(opened.error(), Code::Unsupported, "rdma_cm uses rdma0 for the address 10.9.0.1");
    const auto listened = CmListener::open(cm_, {address(), "rdma1"});
    ASSERT_FALSE(listened);
    expect_error(listened.error(), Code::Unsupported, "the queue pairs are on rdma1");
}

TEST_F(CmTest, GivesThePathAndTheTimersOfAConnectionWithoutIt) {
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    const auto connection = connect(client, listener.ticket(), 0, wait());
    const auto lanes = accepted.get();
    ASSERT_TRUE(connection && lanes);
    EXPECT_EQ(verbs_.change(client.qp(), IBV_QPS_RTR).dest_qp_num, server.qp()->qp_num);
    EXPECT_EQ(verbs_.change(server.qp(), IBV_QPS_RTR).dest_qp_num, client.qp()->qp_num);
    for (const CmEnd* end : {&client, &server}) {
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTR).path_mtu, IBV_MTU_1024);
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTR).ah_attr.grh.sgid_index, 1);
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_INIT).qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTR).min_rnr_timer, 12);
        // Each starts 4 at most and would answer 8: of those the peer starts 4.
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTR).max_dest_rd_atomic, 4);
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTS).max_rd_atomic, 4);
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTS).timeout, 14);
        EXPECT_EQ(verbs_.change(end->qp(), IBV_QPS_RTS).rnr_retry, 7);
    }
}

TEST_F(CmTest, MarksReplaceWhatRdmaCmHas) {
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    CmQueue queue = client.queue();
    queue.end.marks = {.traffic_class = 106, .service_level = 3, .flow_label = 0x12345};
    auto accepted = accept(listener, {&server}, wait());
    auto connection = CmConnection::open(cm_, {address(), "rdma0"});
    ASSERT_TRUE(connection && connection->init(queue));
    ASSERT_TRUE(connection->connect(queue, address(), listener.ticket(), 0, wait()));
    EXPECT_TRUE(accepted.get());
    const ibv_ah_attr marked = verbs_.change(client.qp(), IBV_QPS_RTR).ah_attr;
    EXPECT_EQ(marked.grh.traffic_class, 106);
    EXPECT_EQ(marked.grh.flow_label, 0x12345U);
    EXPECT_EQ(marked.sl, 3);
    EXPECT_EQ(marked.grh.sgid_index, 1) << "the rest is rdma_cm's";
    const ibv_ah_attr plain = verbs_.change(server.qp(), IBV_QPS_RTR).ah_attr;
    EXPECT_EQ(plain.grh.traffic_class, test::kCmTrafficClass) << "nobody asked for another";
}

TEST_F(CmTest, AnAgreedMtuIsUsed) {
    CmEnd client(verbs_);
    CmListener listener = listen();
    CmQueue queue = client.queue();
    queue.mtu = 512;
    CmEnd server(verbs_);
    auto accepted = accept(listener, {&server}, wait());
    auto connection = CmConnection::open(cm_, {address(), "rdma0"});
    ASSERT_TRUE(connection && connection->init(queue));
    ASSERT_TRUE(connection->connect(queue, address(), listener.ticket(), 0, wait()));
    EXPECT_EQ(verbs_.change(client.qp(), IBV_QPS_RTR).path_mtu, IBV_MTU_512);
    EXPECT_TRUE(accepted.get());
}

// ---- what is missing ----------------------------------------------------------------------------
TEST_F(CmTest, AMissingLibraryIsSaid) {
    cm_.have_no_library();
    const auto device = cm_device_of(cm_, address());
    ASSERT_FALSE(device);
    expect_error(device.error(), Code::Unsupported, "load librdmacm");
}

TEST_F(CmTest, AMissingNodeIsSaid) {
    cm_.fail(FakeCm::Call::CreateChannel, ENOENT);
    const auto device = cm_device_of(cm_, address());
    ASSERT_FALSE(device);
    expect_error(device.error(),
                 Code::Kernel,
                 "open rdma_cm (/dev/infiniband/rdma_cm)",
                 "modprobe rdma_ucm");
}

TEST_F(CmTest, AnAddressWithoutADeviceIsSaid) {
    const auto device = cm_device_of(cm_, parse_address("10.9.0.7").value());
    ASSERT_FALSE(device);
    expect_error(device.error(), Code::Unsupported, "bind rdma_cm to 10.9.0.7", "rdma link");
    for (const char* useless : {"127.0.0.1", "::1", "fe80::1"}) {
        const auto none = cm_device_of(cm_, parse_address(useless).value());
        ASSERT_FALSE(none);
        expect_error(none.error(), Code::Unsupported, "cannot be used with the", "--bind");
    }
}

// ---- what can fail ------------------------------------------------------------------------------
TEST_F(CmAttempt, CallsThatFailNameThemselves) {
    using Call = FakeCm::Call;

    struct Failing {
        Call call;
        int number;
        Code code;
        const char* text;
        const char* fix;
    };

    const Failing cases[] = {
        {Call::ResolveAddr, ENETUNREACH, Code::Unavailable, "resolve the address", "ip route get"},
        {Call::ResolveRoute, ENODEV, Code::Unsupported, "resolve the route", "rdma link"},
        {Call::Connect, EINVAL, Code::Kernel, "ask for the connection", "exclusive mode"},
        {Call::Establish, ECONNRESET, Code::Unavailable, "confirm the connection", "serve"},
        {Call::GetEvent, EIO, Code::Kernel, "read an event", ""}};
    for (const Failing& each : cases) {
        SCOPED_TRACE(each.text);
        FakeCm broken(verbs_, {place()});
        broken.fail(each.call, each.number);
        CmEnd client(verbs_);
        CmEnd server(verbs_);
        auto listener = CmListener::open(broken, {address(), "rdma0"});
        ASSERT_TRUE(listener);
        Stop server_stop;
        auto accepted = accept(*listener, {&server}, {.timeout = 10s, .stop = server_stop});
        auto connection = CmConnection::open(broken, {address(), "rdma0"});
        ASSERT_TRUE(connection && connection->init(client.queue()));
        const auto done =
            connection->connect(client.queue(), address(), listener->ticket(), 0, wait());
        server_stop.request();
        (void)accepted.get();
        ASSERT_FALSE(done);
        expect_error(done.error(), each.code, each.text, each.fix);
        EXPECT_EQ(done.error().sys, each.number);
        EXPECT_THAT(done.error().message(),
                    testing::HasSubstr("connect lane 0 to 10.9.0.1 port 4711 by rdma_cm"));
    }
}

struct CmBadEvent {
    rdma_cm_event_type due;
    rdma_cm_event_type event;
    int status;
    Code code;
    const char* text;
    const char* fix;
};

class CmBadEvents : public CmAttempt, public testing::WithParamInterface<CmBadEvent> {};

TEST_P(CmBadEvents, EndTheAttemptWithTheReason) {
    cm_.answer(GetParam().due, GetParam().event, GetParam().status);
    expect_error(failed(), GetParam().code, GetParam().text, GetParam().fix);
}

INSTANTIATE_TEST_SUITE_P(
    Cm,
    CmBadEvents,
    testing::Values(
        CmBadEvent{RDMA_CM_EVENT_ADDR_RESOLVED,
                   RDMA_CM_EVENT_ADDR_ERROR,
                   -ENETUNREACH,
                   Code::Unavailable,
                   "resolve the address: rdma_cm does not find the address: Network is unreachable",
                   "ip route get"},
        CmBadEvent{RDMA_CM_EVENT_ADDR_RESOLVED,
                   RDMA_CM_EVENT_ADDR_ERROR,
                   -1,
                   Code::Unavailable,
                   "does not find the address (status -1)",
                   ""},
        CmBadEvent{RDMA_CM_EVENT_ROUTE_RESOLVED,
                   RDMA_CM_EVENT_ROUTE_ERROR,
                   -EINVAL,
                   Code::Kernel,
                   "resolve the route: rdma_cm does not find a route",
                   ""},
        CmBadEvent{RDMA_CM_EVENT_CONNECT_RESPONSE,
                   RDMA_CM_EVENT_REJECTED,
                   10,
                   Code::Unavailable,
                   "the number of our queue pair belongs to an older connection there (status 10)",
                   "the other side"},
        CmBadEvent{RDMA_CM_EVENT_CONNECT_RESPONSE,
                   RDMA_CM_EVENT_UNREACHABLE,
                   -ETIMEDOUT,
                   Code::Unavailable,
                   "the peer's rdma_cm does not answer: Connection timed out",
                   "no answer from the peer's rdma_cm"},
        CmBadEvent{RDMA_CM_EVENT_CONNECT_RESPONSE,
                   RDMA_CM_EVENT_CONNECT_ERROR,
                   -ENOMEM,
                   Code::Kernel,
                   "the connection failed while it was made: Cannot allocate memory",
                   ""},
        CmBadEvent{RDMA_CM_EVENT_CONNECT_RESPONSE,
                   RDMA_CM_EVENT_DEVICE_REMOVAL,
                   0,
                   Code::Unsupported,
                   "the RDMA device was removed",
                   ""},
        CmBadEvent{RDMA_CM_EVENT_CONNECT_RESPONSE,
                   RDMA_CM_EVENT_MULTICAST_JOIN,
                   0,
                   Code::Internal,
                   "event 12 of rdma_cm (status 0) is not due",
                   ""}));

TEST_P(CmEveryTransport, ANeighbourThatWasMissedIsLookedForAgain) {
    cm_.miss_neighbour(3);
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    auto accepted = accept(listener, {&server}, wait());
    const auto connection = connect(client, listener.ticket(), 0, wait());
    EXPECT_TRUE(connection) << connection.error().message();
    EXPECT_TRUE(accepted.get());
}

TEST_F(CmAttempt, ANeighbourThatNeverAnswersIsSaidAtTheDeadline) {
    cm_.miss_neighbour(1 << 30);
    const Error error = failed(50ms);
    // Either limit may be the first: the kernel's own of the last look, or ours.
    EXPECT_TRUE(error.code == Code::Timeout || error.sys == ETIMEDOUT) << error.message();
    EXPECT_THAT(error.fix, testing::HasSubstr("no ARP or neighbour answer"));
}

TEST_P(CmEveryTransport, NobodyListens) {
    CmEnd client(verbs_);
    const auto connection = connect(client, {.port = 4999, .nonce = 1}, 0, wait());
    ASSERT_FALSE(connection);
    expect_error(connection.error(),
                 Code::Unavailable,
                 GetParam() ? "Connection refused" : "nobody listens at that port there",
                 "serve");
}

TEST_P(CmEveryTransport, AnotherTicketIsRejected) {
    CmEnd client(verbs_);
    CmEnd server(verbs_);
    CmListener listener = listen();
    Stop server_stop;
    auto accepted = accept(listener, {&server}, {.timeout = 10s, .stop = server_stop});
    CmTicket ticket = listener.ticket();
    ++ticket.nonce;
    const auto connection = connect(client, ticket, 0, wait());
    server_stop.request();
    EXPECT_FALSE(accepted.get());
    ASSERT_FALSE(connection);
    expect_error(connection.error(),
                 Code::Unavailable,
                 GetParam()
                     ? "the peer rejected the connection: by the program there, or it has gone"
                     : "the peer rejected the connection: by the program there",
                 "the other side");
}

}  // namespace
}  // namespace perf
