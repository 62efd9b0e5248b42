// SPDX-License-Identifier: Apache-2.0
// Points over TCP: client and server over real sockets of loopback, no device, and what a network
// and strangers may do to them.
#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/engine/tcp_lane.h"
#include "perf/measure/client.h"
#include "perf/protocol/control.h"
#include "tests/unit/perf/session_pair.h"
#include "tests/unit/perf/wire.h"

namespace perf {
namespace {

using base::Code;
using base::Deadline;
using base::Json;
using base::Result;
using base::UniqueFd;
using test::FakeVerbs;
using test::kGreeting;
using test::Wire;
using test::WireFaults;
using testing::HasSubstr;
using namespace std::literals;

Point tcp_point(Mode mode, uint32_t size = 1000) {
    return point(Verb::Send, mode, size, Transport::Tcp);
}

Point by_time(Point p, uint32_t time_ms) {
    p.iterations = 0;
    p.time_ms = time_ms;
    return p;
}

// The client's byte that far into what is measured.
uint64_t in_the_measurement(const Point& p) {
    return kGreeting + (uint64_t{2} * p.slots + 40) * p.size;
}

// A host whose devices cannot be opened.
FakeVerbs no_device() {
    test::FakeDevice device = test::loopback_device();
    device.open_error = EPERM;
    return FakeVerbs({device});
}

Result<PointResult> run_tcp(const Point& wanted) {
    FakeVerbs verbs = no_device();
    Pair pair(verbs);
    auto result = [&]() -> Result<PointResult> {
        Client client = TRY(pair.client());
        return conduct({&client, 1}, wanted);
    }();
    const auto outcome = pair.outcome();
    EXPECT_EQ(outcome.has_value(), result.has_value());
    return result;
}

// The same through a wire; the patience is the client's.
Result<PointResult> run_over(WireFaults faults,
                             const Point& wanted,
                             std::chrono::milliseconds patience = 20s,
                             Result<>* outcome = nullptr,
                             const Stop& stop = Stop()) {
    FakeVerbs verbs = no_device();
    Pair pair(verbs, 20s);
    auto result = [&]() -> Result<PointResult> {
        Wire wire(pair.control(), std::move(faults));
        Client client = TRY(Client::greet(wire.control(stop), options(patience)));
        return conduct({&client, 1}, wanted);
    }();
    auto ended = pair.outcome();
    if (outcome != nullptr)
        *outcome = std::move(ended);
    return result;
}

struct TcpCase {
    Mode mode;
    PollMode poll;
};

class EveryTcpPoint : public testing::TestWithParam<TcpCase> {
  protected:
    static Point wanted(uint32_t size = 1000) {
        Point p = tcp_point(GetParam().mode, size);
        p.poll = {.mode = GetParam().poll, .spin_us = 5};
        return p;
    }
};

TEST_P(EveryTcpPoint, IsVerifiedAndMeasured) {
    for (const uint32_t size : {1U, 64U, 1000U, 4096U, 300000U}) {
        const Point p = wanted(size);
        const auto result = run_tcp(p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        const uint64_t directions = is_ping_pong(p) ? 2 : 1;
        EXPECT_EQ(result->checked.messages, directions * 3 * p.slots);
        EXPECT_EQ(result->checked.bytes, directions * 3 * p.slots * p.size);
        EXPECT_EQ(result->bandwidth ? result->bandwidth->messages : 777U, 777U);
        EXPECT_EQ(result->latency ? result->latency->samples : 777U, 777U);
        EXPECT_EQ(result->bandwidth.has_value(), p.mode == Mode::Bandwidth);
        EXPECT_EQ(result->mtu, 0U);
        EXPECT_FALSE(result->share_of_limit);
    }
}

TEST_P(EveryTcpPoint, RunsByTime) {
    const auto result = run_tcp(by_time(wanted(), 200));
    ASSERT_TRUE(result) << result.error().message();
    if (result->bandwidth) {
        EXPECT_GE(result->bandwidth->elapsed_ns, 200'000'000U);
        EXPECT_GT(result->bandwidth->messages, 0U);
    } else {
        EXPECT_GT(result->latency->samples, 0U);
    }
}

TEST_P(EveryTcpPoint, SilenceEndsAtTheDeadline) {
    expect_no_completion([](std::chrono::milliseconds patience) {
        return run_over(
            {.stall = in_the_measurement(wanted())}, by_time(wanted(), 60'000), patience);
    });
}

TEST_P(EveryTcpPoint, ACutDataConnectionIsALostPeer) {
    Result<> outcome;
    const auto result =
        run_over({.cut = in_the_measurement(wanted())}, by_time(wanted(), 60'000), 20s, &outcome);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::Unavailable) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("measuring " + describe(wanted())));
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), HasSubstr("serving " + describe(wanted())));
}

TEST_P(EveryTcpPoint, StopEndsIt) {
    Stop stop;
    const auto result =
        run_over({.tell = in_the_measurement(wanted()), .reached = [&] { stop.request(); }},
                 by_time(wanted(), 60'000),
                 20s,
                 nullptr,
                 stop);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().sys, ECANCELED) << result.error().message();
}

INSTANTIATE_TEST_SUITE_P(All,
                         EveryTcpPoint,
                         testing::Values(TcpCase{Mode::Bandwidth, PollMode::Spin},
                                         TcpCase{Mode::Bandwidth, PollMode::Yield},
                                         TcpCase{Mode::Bandwidth, PollMode::Auto},
                                         TcpCase{Mode::Bandwidth, PollMode::Hybrid},
                                         TcpCase{Mode::Latency, PollMode::Yield},
                                         TcpCase{Mode::Latency, PollMode::Auto}),
                         [](const auto& each) {
                             return std::string(name_of(each.param.mode)) + "_" +
                                    std::string(name_of(each.param.poll));
                         });

struct TcpShape {
    Direction direction;
    uint32_t qps;
    uint32_t threads;
    PollMode poll = PollMode::Auto;
};

class EveryTcpShape : public testing::TestWithParam<TcpShape> {
  protected:
    static Point wanted() {
        const TcpShape& shape = GetParam();
        const Plan plan{.verbs = {Verb::Send},
                        .modes = {Mode::Bandwidth},
                        .sizes = {1000},
                        .iterations = 777,
                        .qps = {shape.qps},
                        .polls = {{.mode = shape.poll}},
                        .threads = shape.threads,
                        .direction = shape.direction,
                        .transports = {Transport::Tcp},
                        .seed = 5};
        return expand(plan).front();
    }

    static uint64_t directions() { return GetParam().direction == Direction::Both ? 2 : 1; }
};

TEST_P(EveryTcpShape, IsVerifiedAndCounted) {
    const Point p = wanted();
    const auto result = run_tcp(p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
    EXPECT_EQ(result->checked.messages, directions() * 3 * p.slots * p.qps);
    ASSERT_TRUE(result->bandwidth);
    EXPECT_EQ(result->bandwidth->parts.size(), directions() == 1 ? 0U : 2U);
    EXPECT_EQ(result->bandwidth->messages, directions() * 777);
    EXPECT_GT(messages_per_second(*result->bandwidth), 0);
}

TEST_P(EveryTcpShape, RunsByTime) {
    auto result = run_tcp(by_time(wanted(), 200));
    ASSERT_TRUE(result) << result.error().message();
    // On a machine where others keep the processors busy, one direction may not have had its turn.
    const auto is_idle = [](const Part& part) { return part.messages == 0; };
    if (std::ranges::any_of(result->bandwidth->parts, is_idle))
        result = run_tcp(by_time(wanted(), 5000));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong);
    EXPECT_GE(result->bandwidth->elapsed_ns, 200'000'000U);
    EXPECT_GT(result->bandwidth->messages, 0U);
    for (const Part& part : result->bandwidth->parts)
        EXPECT_GT(part.messages, 0U) << name_of(part.direction);
}

INSTANTIATE_TEST_SUITE_P(All,
                         EveryTcpShape,
                         testing::Values(TcpShape{Direction::Forward, 5, 2},
                                         TcpShape{Direction::Forward, 70, 1, PollMode::Yield},
                                         TcpShape{Direction::Reverse, 1, 1},
                                         TcpShape{Direction::Reverse, 5, 2, PollMode::Yield},
                                         TcpShape{Direction::Both, 1, 1},
                                         TcpShape{Direction::Both, 5, 2},
                                         TcpShape{Direction::Both, 3, 3, PollMode::Yield}),
                         [](const auto& each) {
                             return std::string(name_of(each.param.direction)) + "_" +
                                    std::to_string(each.param.qps) + "_" +
                                    std::to_string(each.param.threads);
                         });

TEST(TcpPoints, FewIterationsHaveNoWarmUp) {
    Point p = tcp_point(Mode::Bandwidth);
    p.iterations = 5;
    p.direction = Direction::Both;
    const auto result = run_tcp(p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->bandwidth->messages, 10U);
    EXPECT_EQ(result->bandwidth->warmup_messages, 0U);
}

// The socket buffers alone would take it all at once: the time must be that of the arrival.
TEST(TcpPoints, WhatIsOnItsWayHasNotArrived) {
    Point p = tcp_point(Mode::Bandwidth, 1);
    p.verify = Verify::Off;
    // The server's word about the last message is late; its first word is about the warm-up.
    const auto result = run_over(
        {.from = Side::Server, .tell = 1, .reached = [] { std::this_thread::sleep_for(300ms); }},
        p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_GE(result->bandwidth->elapsed_ns, 300'000'000U);
}

TEST(TcpPoints, WrongBytesAreFoundAndLocated) {
    struct Wrong {
        Direction direction;
        uint64_t message;  // in the stream
        uint64_t number;   // as it is reported
    };

    const uint64_t slots = tcp_point(Mode::Bandwidth).slots;
    const uint64_t measured = 77 + 777;
    for (const auto& [direction, message, number] :
         {Wrong{Direction::Forward, slots + 5, slots + 5},
          Wrong{Direction::Reverse, 0, 0},
          Wrong{Direction::Forward, 2 * slots + measured + 3, 2 * slots + 3},
          Wrong{Direction::Reverse, 2 * slots + measured + 3, 2 * slots + 3}}) {
        Point p = tcp_point(Mode::Bandwidth);
        p.direction = direction;
        const bool forward = direction == Direction::Forward;
        const auto result = run_over({.from = forward ? Side::Client : Side::Server,
                                      .flip = (forward ? kGreeting : 0) + message * p.size + 17},
                                     p);
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->checked.wrong) << name_of(direction) << message;
        EXPECT_THAT(result->checked.wrong->mismatch.kind, HasSubstr("bit flip"));
        EXPECT_EQ(result->checked.wrong->side, forward ? "server" : "client");
        EXPECT_EQ(result->checked.wrong->message, number);
        EXPECT_EQ(result->checked.wrong->mismatch.offset, 17U);
        EXPECT_EQ(result->bandwidth.has_value(), message > 2 * slots) << "wrong data is not timed";
    }
}

TEST(TcpPoints, WrongBytesOfAnAnswerAreFound) {
    const Point p = tcp_point(Mode::Latency, 64);
    const auto result = run_over({.from = Side::Server, .flip = uint64_t{3} * 64 + 9}, p);
    ASSERT_TRUE(result) << result.error().message();
    ASSERT_TRUE(result->checked.wrong);
    EXPECT_EQ(result->checked.wrong->side, "client");
    EXPECT_EQ(result->checked.wrong->message, 3U);
}

TEST(TcpPoints, StrangersDisturbNobody) {
    std::vector<UniqueFd> strangers;
    Stop stop;
    const auto come = [&](uint16_t port) {
        for (int i = 0; i < 100; ++i) {
            auto fd = connect_to("127.0.0.1", port, Deadline::in(1s), stop);
            ASSERT_TRUE(fd);
            const std::string_view says[] = {
                "", "RDT1", "GET / HTTP/1.0\r\n\r\n", "RDT1\0\0\0\0guessing"sv};
            const std::string_view word = says[i % 4];
            EXPECT_EQ(::send(fd->get(), word.data(), word.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(word.size()));
            if (i % 3 != 0)
                strangers.push_back(std::move(*fd));
        }
    };
    const auto result = run_over({.opened = come}, tcp_point(Mode::Bandwidth));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong);
    EXPECT_EQ(result->bandwidth->messages, 777U);
}

// Until the server waits for its data connection.
Result<> open_by_hand(Control& control) {
    const Json hello = message("hello", to_json(own_hello()));
    TRY(control.ask(hello, "hello", Deadline::in(20s)));
    const Json open = message("open", {{"point", to_json(tcp_point(Mode::Bandwidth))}});
    TRY(control.ask(open, "opened", Deadline::in(20s)));
    return {};
}

TEST(TcpPoints, AClientThatNeverDialsIsGivenUp) {
    FakeVerbs verbs = no_device();
    std::optional<Pair> pair;
    std::optional<Control> control;
    // A busy machine may take longer to say hello than the server waits: then that waits longer.
    for (std::chrono::milliseconds patience = 300ms;; patience *= 2) {
        pair.emplace(verbs, patience);
        control.emplace(pair->control());
        const auto opened = open_by_hand(*control);
        if (opened)
            break;
        control.reset();
        ASSERT_LT(patience, 10s) << opened.error().message();
    }
    const auto answer = control->expect("verified", Deadline::in(20s));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::Timeout);
    EXPECT_THAT(answer.error().message(), HasSubstr("0 of 1 data connections"));
    control.reset();
    EXPECT_EQ(pair->outcome().error().code, Code::Timeout);
}

TEST(TcpPoints, AClientThatDiesBeforeItDialsIsNoticedAtOnce) {
    FakeVerbs verbs = no_device();
    Pair pair(verbs, 60s);
    {
        Control control = pair.control();
        ASSERT_TRUE(open_by_hand(control));
    }
    EXPECT_EQ(pair.outcome().error().code, Code::Unavailable);
}

TEST(TcpPoints, APortThatIsClosedIsExplained) {
    Stop stop;
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    const UniqueFd other(fds[1]);
    const Control control(UniqueFd(fds[0]), stop);
    const uint16_t port = listen_beside(control.fd()).value().port;  // closed again
    const auto streams = dial_streams(control, {.port = port}, 1, Deadline::in(1s));
    ASSERT_FALSE(streams);
    EXPECT_EQ(streams.error().code, Code::Unavailable);
    EXPECT_THAT(streams.error().message(), HasSubstr("firewall"));
}

TEST(TcpPoints, VerbsPointsNeedTheDeviceBefore) {
    FakeVerbs verbs;
    Pair pair(verbs);
    {
        Control control = pair.control();
        ASSERT_TRUE(control.ask(message("hello", to_json(own_hello())), "hello", Deadline::in(1s)));
        const Json open = message("open", {{"point", to_json(point(Verb::Send, Mode::Bandwidth))}});
        const auto answer = control.ask(open, "opened", Deadline::in(1s));
        ASSERT_FALSE(answer);
        EXPECT_THAT(answer.error().message(), HasSubstr("before 'device'"));
    }
    EXPECT_FALSE(pair.outcome());
}

TEST(TcpPoints, ShareAConnectionWithVerbs) {
    FakeVerbs verbs;
    Pair pair(verbs);
    {
        auto client = pair.client(verbs);
        ASSERT_TRUE(client) << client.error().message();
        const Plan plan{.verbs = {Verb::Write, Verb::Send},
                        .modes = {Mode::Bandwidth, Mode::Latency},
                        .sizes = {1000},
                        .iterations = 777,
                        .transports = {Transport::Rc, Transport::Tcp}};
        const auto points = expand(plan);
        EXPECT_EQ(points.size(), 6U);
        for (const Point& p : points) {
            const auto result = conduct({&*client, 1}, p);
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_FALSE(result->checked.wrong);
            EXPECT_EQ(result->mtu != 0, p.transport == Transport::Rc);
        }
    }
    EXPECT_TRUE(pair.outcome());
    EXPECT_EQ(verbs.objects(), 0U);
}

TEST(TcpPoints, TwoClientsShareOneWindow) {
    FakeVerbs verbs = no_device();
    Pair first(verbs);
    Pair second(verbs);
    {
        std::vector<Client> clients;
        for (Pair* pair : {&first, &second})
            clients.push_back(pair->client().value());
        const auto result = conduct(clients, by_time(tcp_point(Mode::Bandwidth), 50));
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_EQ(result->bandwidth->parts.size(), 2U);
        for (const Part& part : result->bandwidth->parts)
            EXPECT_GT(part.messages, 0U);
    }
    EXPECT_TRUE(first.outcome());
    EXPECT_TRUE(second.outcome());
}

TEST(TcpPoints, HaveAnOpenLoop) {
    const Plan plan{.verbs = {Verb::Send},
                    .modes = {Mode::Latency},
                    .sizes = {100},
                    .iterations = 500,
                    .rate = 10'000,
                    .transports = {Transport::Tcp},
                    .seed = 5};
    const auto result = run_tcp(expand(plan).front());
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->latency->samples, 500U);
}

// Two lanes of one thread, one with sends that are done at once, one with a message that came in.
TEST(TcpQueue, SendsThatAreDoneAtOnceKeepNoMessageWaiting) {
    Point p = by_time(tcp_point(Mode::Bandwidth, 64), 100);
    p.qps = 2;
    p.direction = Direction::Both;
    auto group = TcpGroup::create(p, Side::Client, 0, 2);
    ASSERT_TRUE(group) << group.error().message();
    std::array<UniqueFd, 2> far;
    for (size_t i = 0; i < far.size(); ++i) {
        int fds[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        far[i] = UniqueFd(fds[1]);
        ASSERT_TRUE(group->lanes[i].connect(UniqueFd(fds[0])));
        group->lanes[i].plain_messages();
    }
    std::array<ibv_wc, 1> wc;
    ASSERT_EQ(group->queue->poll(wc), 0) << "both are known to be empty";
    std::array<std::byte, 64> message{};
    ASSERT_EQ(::send(far[1].get(), message.data(), message.size(), MSG_NOSIGNAL), 64);
    bool received = false;
    for (int i = 0; i < 100 && !received; ++i) {
        ASSERT_EQ(group->lanes[0].post_one(0, true), 0);
        ASSERT_EQ(group->queue->poll(wc), 1);
        received = (wc[0].opcode & IBV_WC_RECV) != 0;
        ASSERT_EQ(::recv(far[0].get(), message.data(), message.size(), MSG_DONTWAIT), 64);
    }
    EXPECT_TRUE(received);
}

}  // namespace
}  // namespace perf
