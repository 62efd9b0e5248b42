// SPDX-License-Identifier: Apache-2.0
// Client and server against each other over the fake provider: every verb, mode and poll mode, and
// everything that can go wrong between them.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/commands.h"
#include "perf/measure/client.h"
#include "tests/unit/perf/fake_verbs.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using base::Code;
using base::Deadline;
using base::Result;
using test::FakeVerbs;
using test::Fault;
using testing::HasSubstr;
using namespace std::chrono_literals;

struct Case {
    Verb verb;
    Mode mode;
    PollMode poll;
    Transport transport = Transport::Rc;
};

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const Verb verb : kVerbs) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            for (const PollMode poll :
                 {PollMode::Spin, PollMode::Yield, PollMode::Event, PollMode::Hybrid})
                cases.push_back({verb, mode, poll});
            for (const Transport transport : {Transport::Uc, Transport::Ud}) {
                if (can_carry(transport, verb))
                    cases.push_back({verb, mode, PollMode::Yield, transport});
            }
        }
    }
    return cases;
}

// How a wait ends is the poll mode's, what it waits for is the verb's: every verb, and every poll
// mode with two of them. Each takes a deadline of real time.
std::vector<Case> endings() {
    std::vector<Case> cases = all_cases();
    std::erase_if(cases, [](const Case& each) {
        const bool is_chosen = each.verb == Verb::Send || each.verb == Verb::Read;
        return each.poll != PollMode::Yield && !is_chosen;
    });
    return cases;
}

Point point_of_case(const Case& each, uint32_t size = 1000) {
    Point p = point(each.verb, each.mode, size, each.transport);
    p.poll = {.mode = each.poll, .spin_us = 5};
    return p;
}

class EveryPoint : public testing::TestWithParam<Case> {
  protected:
    static Point wanted(uint32_t size = 1000) { return point_of_case(GetParam(), size); }
};

// All endings of a verb at the same time.
class EveryEnding : public testing::TestWithParam<Verb> {
  protected:
    static std::vector<Point> points() {
        std::vector<Point> all;
        for (const Case& each : endings()) {
            if (each.verb == GetParam())
                all.push_back(point_of_case(each));
        }
        return all;
    }
};

TEST_P(EveryPoint, IsVerifiedAndMeasured) {
    std::vector<uint32_t> sizes{1, 64, 200, 4096};
    if (GetParam().poll == PollMode::Yield)
        sizes.push_back(300'000);  // how to wait does not depend on the size
    for (const uint32_t size : sizes) {
        FakeVerbs verbs;
        const Point p = wanted(size);
        if (p.transport == Transport::Ud && size > 1024)
            continue;
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        const uint64_t directions = is_ping_pong(p) || is_atomic(p.verb) ? 2 : 1;
        EXPECT_EQ(result->checked.messages, directions * messages_checked(p));
        EXPECT_EQ(result->checked.bytes, directions * messages_checked(p) * p.size);
        EXPECT_EQ(result->checked.lost, 0U);
        EXPECT_EQ(result->bandwidth.has_value(), p.mode == Mode::Bandwidth);
        EXPECT_EQ(result->latency.has_value(), p.mode == Mode::Latency);
        // The fake drops a datagram that finds no receive, as devices do.
        const uint64_t lost = result->bandwidth ? result->bandwidth->lost : 0;
        if (is_reliable(p.transport)) {
            EXPECT_EQ(lost, 0U);
        }
        EXPECT_LE(result->bandwidth ? result->bandwidth->messages : 777U, 777U);
        if (lost == 0) {
            EXPECT_EQ(result->bandwidth ? result->bandwidth->messages : 777U, 777U);
        }
        EXPECT_EQ(result->latency ? result->latency->samples : 777U, 777U);
        EXPECT_EQ(result->inline_bytes, p.size <= 128 && !fetches(p.verb) ? p.size : 0);
    }
}

TEST_P(EveryPoint, IsHeldAgainstTheLink) {
    auto device = test::loopback_device();
    device.vendor_id = 0x2c9;
    FakeVerbs verbs({device});
    const Point p = wanted(1024);
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->share_of_limit.has_value(), p.mode == Mode::Bandwidth && !is_atomic(p.verb));
    if (result->share_of_limit) {
        const double limit =
            payload_limit({.link_bps = 2'500'000'000, .mtu = result->mtu}, p).value();
        EXPECT_DOUBLE_EQ(result->share_of_limit->percent, *bandwidth_of(*result) / limit * 100);
    }
    ASSERT_TRUE(result->usage.client.cpu && result->usage.server.cpu);
    EXPECT_GE(result->usage.server.cpu->window_s, result->usage.client.cpu->window_s);
    EXPECT_GE(result->usage.payload_bytes, 777U * p.size);
}

TEST_P(EveryPoint, RunsByTime) {
    const auto result = run_by_time(wanted(), 20);
    ASSERT_TRUE(result) << result.error().message();
    if (!result->bandwidth)
        return;
    EXPECT_GE(result->bandwidth->elapsed_ns, 20'000'000U);
    EXPECT_GT(result->bandwidth->messages, 0U);
}

TEST_P(EveryPoint, FindsEachKindOfWrongData) {
    const Point p = wanted(GetParam().transport == Transport::Ud ? 1000 : 4096);
    const uint64_t ring = (is_ping_pong(p) ? 2 : 1) * p.slots;

    struct Expectation {
        Fault fault;
        const char* kind;
    };

    for (const auto& [fault, kind] : {Expectation{Fault::BitFlip, "bit flip"},
                                      Expectation{Fault::Stale, "stale"},
                                      Expectation{Fault::Shift, "shifted by 16 bytes"},
                                      Expectation{Fault::Stray, "stray write"}}) {
        if (fault == Fault::Shift && is_atomic(p.verb))
            continue;  // a word has nowhere to go
        FakeVerbs verbs;
        verbs.inject(fault, ring + p.slots / 2);  // in the second round
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->checked.wrong) << kind;
        EXPECT_THAT(result->checked.wrong->mismatch.kind, HasSubstr(kind));
        EXPECT_EQ(result->checked.wrong->side, fetches(p.verb) ? "client" : "server");
        EXPECT_EQ(result->checked.wrong->message, p.slots + p.slots / 2);
        EXPECT_EQ(result->checked.wrong->guard, fault == Fault::Stray);
        EXPECT_FALSE(result->bandwidth || result->latency) << "wrong data is not timed";
    }
}

TEST_P(EveryEnding, LostMessagesEndInAnErrorThatNamesTheState) {
    all_at_once(points(), [](const Point& wanted) {
        for (const uint64_t at : {0U, 100U}) {
            FakeVerbs verbs;
            verbs.fail_messages(at);
            const auto result = run_one(verbs, wanted);
            ASSERT_FALSE(result) << describe(wanted);
            EXPECT_EQ(result.error().code, Code::Unavailable) << result.error().message();
            EXPECT_THAT(result.error().message(), HasSubstr("ing " + describe(wanted)));
        }
    });
}

TEST(Session, AFailureWithThePortDownSaysSo) {
    FakeVerbs verbs;
    verbs.fail_messages(100);
    Pair pair(verbs);
    auto client = pair.client(verbs);
    ASSERT_TRUE(client);
    verbs.take_link_down("rxe0");
    const auto result = conduct({&*client, 1}, point(Verb::Write, Mode::Bandwidth));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::Unavailable);
    EXPECT_THAT(result.error().message(), HasSubstr("port 1 of rxe0 is down"));
}

TEST_P(EveryEnding, SilenceEndsAtTheDeadline) {
    all_at_once(points(), [](const Point& wanted) {
        SCOPED_TRACE(describe(wanted));
        expect_no_completion([&](std::chrono::milliseconds patience) -> Result<PointResult> {
            FakeVerbs verbs;
            verbs.go_silent(100);
            Pair pair(verbs, 20s);
            Client client = TRY(Client::start(verbs, pair.control(), options(patience)));
            return conduct({&client, 1}, wanted);
        });
    });
}

TEST_P(EveryPoint, ARemovedDeviceEndsIt) {
    FakeVerbs verbs;
    Pair pair(verbs, 30s);
    Point p = wanted();
    p.iterations = 0;
    p.time_ms = 60'000;
    std::jthread remover([&] {
        while (verbs.messages() < 500)
            std::this_thread::yield();
        verbs.announce("rxe0", IBV_EVENT_PORT_ERR);  // no reason to end
        verbs.announce("rxe0", IBV_EVENT_DEVICE_FATAL);
    });
    auto client = pair.client(verbs);
    ASSERT_TRUE(client);
    const auto begin = Deadline::Clock::now();
    const auto result = conduct({&*client, 1}, p);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::Kernel);
    EXPECT_THAT(result.error().message(), HasSubstr("measuring " + describe(p)));
    EXPECT_THAT(result.error().message(), HasSubstr("the RDMA device rxe0 is gone"));
    EXPECT_LT(Deadline::Clock::now() - begin, 20s);
}

TEST_P(EveryPoint, StopEndsIt) {
    FakeVerbs verbs;
    Pair pair(verbs);
    Point p = wanted();
    p.iterations = 0;
    p.time_ms = 60'000;
    std::jthread stopper([&] {
        while (verbs.messages() < 500)
            std::this_thread::yield();
        pair.stop.request();
    });
    auto client = pair.client(verbs);
    ASSERT_TRUE(client);
    const auto result = conduct({&*client, 1}, p);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().sys, ECANCELED) << result.error().message();
}

TEST_P(EveryEnding, DeadClientEndsTheSession) {
    all_at_once(points(), [](const Point& p) {
        FakeVerbs verbs;
        Pair pair(verbs, 20s);
        {
            auto client = pair.client(verbs);
            ASSERT_TRUE(client) << describe(p);
            // In the middle of the measurement; of datagrams many are dropped then.
            const uint32_t middle =
                is_ping_pong(p) || is_reliable(p.transport) ? 4 * p.slots + 20 : 2 * p.slots + 5;
            verbs.go_silent(middle);
            ASSERT_TRUE(client->open(p) && client->verify_before() && client->begin());
            while (verbs.messages() < middle)
                std::this_thread::yield();
        }
        const auto outcome = pair.outcome();
        ASSERT_FALSE(outcome) << describe(p);
        EXPECT_THAT(outcome.error().message(), HasSubstr("serving " + describe(p)));
    });
}

std::string name_of_case(const testing::TestParamInfo<Case>& each) {
    return std::string(name_of(each.param.verb)) + "_" + std::string(name_of(each.param.mode)) +
           "_" + std::string(name_of(each.param.poll)) + "_" +
           std::string(name_of(each.param.transport));
}

INSTANTIATE_TEST_SUITE_P(All, EveryPoint, testing::ValuesIn(all_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(All, EveryEnding, testing::ValuesIn(kVerbs), [](const auto& each) {
    return std::string(name_of(each.param));
});

TEST(Session, ManyPointsOverOneConnection) {
    FakeVerbs verbs;
    Pair pair(verbs);
    {
        auto client = pair.client(verbs);
        ASSERT_TRUE(client) << client.error().message();
        for (const Case& c : all_cases()) {
            const auto result = conduct({&*client, 1}, point(c.verb, c.mode, 1000, c.transport));
            ASSERT_TRUE(result) << result.error().message();
        }
    }
    EXPECT_TRUE(pair.outcome());
    EXPECT_EQ(verbs.objects(), 0U);
}

TEST(Session, ALostDatagramIsCountedAndTheRestIsRight) {
    for (const Transport transport : {Transport::Uc, Transport::Ud}) {
        const Point p = point(Verb::Send, Mode::Bandwidth, 500, transport);
        FakeVerbs verbs;
        verbs.inject(Fault::Lost, 3);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.lost, 1U);
        EXPECT_EQ(result->checked.messages, 3 * p.slots - 1);
    }
}

TEST(Session, AMessageThatComesTwiceIsFound) {
    FakeVerbs verbs;
    verbs.inject(Fault::Twice, 3);
    const auto result = run_one(verbs, point(Verb::Send, Mode::Bandwidth, 500, Transport::Ud));
    ASSERT_TRUE(result) << result.error().message();
    ASSERT_TRUE(result->checked.wrong);
    EXPECT_EQ(result->checked.wrong->mismatch.kind, "a message twice");
}

TEST(Session, ADatagramLargerThanThePathMtuIsRefused) {
    FakeVerbs verbs;
    const auto result = run_one(verbs, point(Verb::Send, Mode::Bandwidth, 1025, Transport::Ud));
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("path MTU"));
}

TEST(Session, AnyDepth) {
    for (const uint32_t depth : {1U, 2U, 3U, 5U, 17U, 128U}) {
        const Plan plan{.verbs = {Verb::Send, Verb::Write, Verb::Read},
                        .modes = {Mode::Bandwidth},
                        .sizes = {100},
                        .iterations = 333,
                        .depths = {depth}};
        for (const Point& p : expand(plan)) {
            FakeVerbs verbs;
            const auto result = run_one(verbs, p);
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_EQ(result->bandwidth->messages, 333U);
        }
    }
}

TEST(Session, VerifyFullLastsAsLongAsTheMeasurement) {
    FakeVerbs verbs;
    Point p = point(Verb::Write, Mode::Bandwidth);
    p.verify = Verify::Full;
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_GE(result->checked.messages, 777U + p.slots);
}

TEST(Session, VerifyOffIsNotVerified) {
    FakeVerbs verbs;
    verbs.inject(Fault::BitFlip, 3);
    Point p = point(Verb::Write, Mode::Bandwidth);
    p.verify = Verify::Off;
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->checked.messages, 0U);
    EXPECT_TRUE(result->bandwidth);
}

TEST(Session, ConnectionSurvivesWrongData) {
    FakeVerbs verbs;
    verbs.inject(Fault::BitFlip, 0);
    Pair pair(verbs);
    auto client = pair.client(verbs);
    ASSERT_TRUE(client);
    EXPECT_TRUE(conduct({&*client, 1}, point(Verb::Send, Mode::Bandwidth))->checked.wrong);
    EXPECT_FALSE(conduct({&*client, 1}, point(Verb::Send, Mode::Bandwidth))->checked.wrong);
}

TEST(Session, MemoryLimitIsExplained) {
    FakeVerbs verbs;
    verbs.refuse_memory(ENOMEM);
    const auto result = run_one(verbs, point(Verb::Write, Mode::Bandwidth));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().sys, ENOMEM);
    EXPECT_THAT(result.error().message(), HasSubstr("RLIMIT_MEMLOCK"));
    EXPECT_THAT(result.error().message(), HasSubstr("opening write bw 1000 B"));
}

TEST(Session, RtrFailuresAreExplained) {
    for (const auto& [number, hint] : {std::pair{ETIMEDOUT, "ARP"},
                                       std::pair{ENODEV, "not in this network namespace"},
                                       std::pair{EINVAL, "path MTU"},
                                       std::pair{ENETUNREACH, "no route"}}) {
        FakeVerbs verbs;
        verbs.refuse_rtr(number);
        const auto result = run_one(verbs, point(Verb::Write, Mode::Bandwidth));
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message(), HasSubstr("to RTR"));
        EXPECT_THAT(result.error().message(), HasSubstr(hint));
    }
}

TEST(Session, MtuIsTheBestOfBothOrTheWish) {
    FakeVerbs verbs;
    EXPECT_EQ(run_one(verbs, point(Verb::Write, Mode::Bandwidth))->mtu, 1024U);
    Point wish = point(Verb::Write, Mode::Bandwidth);
    wish.mtu = 512;
    EXPECT_EQ(run_one(verbs, wish)->mtu, 512U);
    wish.mtu = 4096;
    const auto refused = run_one(verbs, wish);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("4200"));
}

TEST(Session, DepthBeyondTheDeviceIsRefused) {
    auto device = test::loopback_device();
    device.max_qp_wr = 16;
    FakeVerbs verbs({device});
    const auto result = run_one(verbs, point(Verb::Write, Mode::Bandwidth));
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("--depth"));
}

// ---- a suite is a folder and its name in the list of commands.cc --------------------------------

constexpr std::string_view kEchoMessages[] = {"echo", "echo_end"};

class EchoHalf : public ServerHalf {
  public:
    explicit EchoHalf(std::string device) : device_(std::move(device)) {}

    Result<base::Json> answer(std::string_view /*type*/, const base::Json& frame) override {
        return message("echoed", {{"said", frame.value("say", "")}, {"device", device_}});
    }

  private:
    std::string device_;
};

constexpr ServedSuite kServedEcho = {
    .what = "an echo",
    .capability = "echo",
    .takes_part = [](const SideOptions&) { return true; },
    .messages = kEchoMessages,
    .make = [](const Lent& lent) -> std::unique_ptr<ServerHalf> {
        return std::make_unique<EchoHalf>(lent.device->info.device);
    },
};

constexpr Suite kEcho = {.name = "echo", .help = "echo", .served = &kServedEcho};

TEST(Suites, AnotherOneIsServedBesidePoints) {
    FakeVerbs verbs;
    Stop stop;
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    Result<> outcome;
    Served served;
    std::jthread server([&] {
        const Suite* const suites[] = {&kEcho};
        outcome =
            serve_session(verbs, Control(base::UniqueFd(fds[1]), stop), options(), served, suites);
    });
    {
        auto client = Client::start(verbs, Control(base::UniqueFd(fds[0]), stop), options());
        ASSERT_TRUE(client) << client.error().message();
        EXPECT_TRUE(can(client->server(), "echo"));
        EXPECT_FALSE(can(client->server(), "kv"));
        const auto ask = [&](std::string_view type) {
            base::Json body = base::Json::object();
            body["say"] = "hello";
            return client->control().ask(message(type, body), "echoed", Deadline::in(2s));
        };
        const auto echoed = ask("echo");
        ASSERT_TRUE(echoed) << echoed.error().message();
        EXPECT_EQ((*echoed)["said"], "hello");
        EXPECT_EQ((*echoed)["device"], "rxe0");
        EXPECT_TRUE(ask("echo_end"));
        const auto result = conduct({&*client, 1}, point(Verb::Write, Mode::Latency));
        EXPECT_TRUE(result) << result.error().message();
        const auto early = ask("echo_end");
        ASSERT_FALSE(early);
        EXPECT_THAT(early.error().message(), HasSubstr("'echo_end' is not due"));
    }
    server.join();
    EXPECT_FALSE(outcome);
    EXPECT_EQ(served.points, 2U) << "the suite and the point";
    EXPECT_EQ(verbs.objects(), 0U);
}

}  // namespace
}  // namespace perf
