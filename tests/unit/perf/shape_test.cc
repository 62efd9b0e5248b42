// SPDX-License-Identifier: Apache-2.0
// Points of several queue pairs, threads, directions and clients, in a closed and an open loop, and
// connected by rdma_cm: client and server against each other over the fake providers.
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/measure/client.h"
#include "tests/unit/perf/fake_cm.h"
#include "tests/unit/perf/session_pair.h"
#include "tests/unit/perf/wire.h"

namespace perf {
namespace {

using test::FakeVerbs;
using test::Fault;
using testing::HasSubstr;
using namespace std::chrono_literals;

// Several queue pairs, threads and directions of every verb that can have them.
struct Shape {
    Verb verb;
    Transport transport = Transport::Rc;
    Direction direction = Direction::Forward;
    uint32_t qps = 1;
    uint32_t threads = 1;
};

std::vector<Shape> all_shapes() {
    std::vector<Shape> shapes;
    for (const Verb verb : kVerbs) {
        for (const auto direction : {Direction::Forward, Direction::Reverse, Direction::Both}) {
            if (is_atomic(verb) && direction == Direction::Both)
                continue;
            shapes.push_back({verb, Transport::Rc, direction, 1, 1});
            shapes.push_back({verb, Transport::Rc, direction, 5, 2});
        }
    }
    for (const auto direction : {Direction::Reverse, Direction::Both}) {
        shapes.push_back({Verb::Send, Transport::Ud, direction, 3, 3});
        shapes.push_back({Verb::Write, Transport::Uc, direction, 3, 1});
    }
    return shapes;
}

class EveryShape : public testing::TestWithParam<Shape> {
  protected:
    static Point wanted() {
        const Shape& shape = GetParam();
        const Plan plan{.verbs = {shape.verb},
                        .modes = {Mode::Bandwidth},
                        .sizes = {1000},
                        .iterations = 777,
                        .qps = {shape.qps},
                        .threads = shape.threads,
                        .direction = shape.direction,
                        .transports = {shape.transport},
                        .seed = 5};
        return expand(plan).front();
    }

    static uint64_t directions() { return GetParam().direction == Direction::Both ? 2 : 1; }
};

TEST_P(EveryShape, IsVerifiedAndCounted) {
    FakeVerbs verbs;
    const Point p = wanted();
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
    const uint64_t checks = is_atomic(p.verb) ? 2 : directions();
    EXPECT_EQ(result->checked.messages, checks * messages_checked(p));
    ASSERT_TRUE(result->bandwidth);
    EXPECT_EQ(result->bandwidth->parts.size(), directions() == 1 ? 0U : 2U);
    if (result->bandwidth->lost == 0) {
        EXPECT_EQ(result->bandwidth->messages, directions() * 777);
    }
    EXPECT_GT(messages_per_second(*result->bandwidth), 0);
}

TEST_P(EveryShape, RunsByTime) {
    const auto result = run_by_time(wanted(), 100);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong);
    EXPECT_GE(result->bandwidth->elapsed_ns, 100'000'000U);
    EXPECT_GT(result->bandwidth->messages, 0U);
}

TEST_P(EveryShape, FindsWrongDataAfterTheMeasurement) {
    const Point p = wanted();
    FakeVerbs counting;
    ASSERT_TRUE(run_one(counting, p));
    FakeVerbs verbs;
    verbs.inject(Fault::BitFlip, counting.messages() - 1);  // the last one of all
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    // Where messages get lost, the last one of one run may be one of the middle of another.
    if (is_reliable(p.transport)) {
        ASSERT_TRUE(result->checked.wrong);
        EXPECT_THAT(result->checked.wrong->mismatch.kind, HasSubstr("bit flip"));
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryShape, testing::ValuesIn(all_shapes()), [](const auto& each) {
    return std::string(name_of(each.param.verb)) + "_" +
           std::string(name_of(each.param.transport)) + "_" +
           std::string(name_of(each.param.direction)) + "_" + std::to_string(each.param.qps) + "_" +
           std::to_string(each.param.threads);
});

TEST(Session, OpenLoopCountsWhatAStallHoldsUp) {
    for (const Verb verb : {Verb::Send, Verb::Write, Verb::Read, Verb::FetchAdd}) {
        for (const PollMode mode : {PollMode::Yield, PollMode::Event}) {
            FakeVerbs verbs;
            const Plan plan{.verbs = {verb},
                            .modes = {Mode::Latency},
                            .sizes = {100},
                            .iterations = 500,
                            .polls = {{.mode = mode}},
                            .rate = 10'000,
                            .seed = 5};
            const auto result = run_one(verbs, expand(plan).front());
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_EQ(result->latency->samples, 500U);
        }
    }
}

struct Excess {
    uint32_t rate;
    std::chrono::milliseconds each;  // that the path takes for a message
};

TEST(Session, OpenLoopBeyondThePathEndsInTime) {
    for (const auto& [rate, each] : {Excess{10'000, 4ms}, Excess{100'000'000, 0ms}}) {
        for (const Verb verb : {Verb::Send, Verb::Read}) {
            FakeVerbs verbs;
            verbs.be_slow(each);
            const Plan plan{.verbs = {verb},
                            .modes = {Mode::Latency},
                            .sizes = {100},
                            .time_ms = 200,
                            .rate = rate,
                            .verify = Verify::Off,
                            .seed = 5};
            const auto begin = base::Deadline::Clock::now();
            const auto result = run_one(verbs, expand(plan).front());
            // Sent one by one all that is due would take 8 s and more.
            EXPECT_LT(base::Deadline::Clock::now() - begin, 4s);
            ASSERT_TRUE(result) << result.error().message();
            // What never left is among the samples, and waited from when it was due.
            const uint64_t due = uint64_t{rate} / 5;
            EXPECT_LE(result->latency->samples, due);
            EXPECT_GE(result->latency->samples, due - due / 4);
            EXPECT_GE(result->latency->max_ns, 150'000'000U);
            EXPECT_GE(result->latency->p50_ns, 75'000'000U);
            EXPECT_LE(result->latency->p50_ns, result->latency->max_ns);
        }
    }
}

TEST(Session, SeveralClientsShareOneWindow) {
    FakeVerbs verbs;
    Pair first(verbs);
    Pair second(verbs);
    {
        std::vector<Client> clients;
        for (Pair* pair : {&first, &second}) {
            auto client = pair->client(verbs);
            ASSERT_TRUE(client) << client.error().message();
            clients.push_back(std::move(*client));
        }
        Point p = point(Verb::Send, Mode::Bandwidth);
        p.iterations = 0;
        p.time_ms = 50;
        const auto result = conduct(clients, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->clients, 2U);
        ASSERT_EQ(result->bandwidth->parts.size(), 2U);
        EXPECT_EQ(result->bandwidth->parts[1].client, 1U);
        EXPECT_FALSE(result->share_of_limit) << "of two links";
        const auto latency = conduct(clients, point(Verb::Send, Mode::Latency));
        ASSERT_TRUE(latency) << latency.error().message();
        EXPECT_EQ(latency->latency->samples, 2U * 777);
    }
    EXPECT_TRUE(first.outcome());
    EXPECT_TRUE(second.outcome());
    EXPECT_EQ(verbs.objects(), 0U);
}

// A server on a machine that was busy for so long; an empty name: an older server.
auto server_on(const std::string& machine, double busy_s) {
    return [=](base::Json& frame) {
        if (frame["type"] == "hello")
            frame.erase("machine");
        if (frame["type"] == "hello" && !machine.empty())
            frame["machine"] = machine;
        if (frame["type"] == "stopped")
            frame["cpu"] = to_json(CpuUse{.window_s = 1, .machine_busy_s = busy_s});
    };
}

// Processor time of both servers of a point.
std::optional<CpuUse> cpu_of_servers(const std::string& one, const std::string& other) {
    FakeVerbs verbs;
    Pair first(verbs);
    Pair second(verbs);
    test::Wire first_wire(first.control(), {.answered = server_on(one, 1)});
    test::Wire second_wire(second.control(), {.answered = server_on(other, 2)});
    std::vector<Client> clients;
    for (auto& [pair, wire] : {std::pair(&first, &first_wire), std::pair(&second, &second_wire)}) {
        auto client = Client::start(verbs, wire->control(pair->stop), options());
        if (client)
            clients.push_back(std::move(*client));
    }
    if (clients.size() != 2)
        return std::nullopt;
    const auto result = conduct(clients, point(Verb::Send, Mode::Bandwidth));
    return result ? result->usage.server.cpu : std::nullopt;
}

TEST(Session, ProcessorTimeOfEachServersMachineCountsOnce) {
    const auto apart = cpu_of_servers("a", "b");
    ASSERT_TRUE(apart);
    EXPECT_DOUBLE_EQ(apart->machine_busy_s, 3);
    EXPECT_DOUBLE_EQ(apart->window_s, 1);
    // Of the client whose window ended last.
    const auto together = cpu_of_servers("a", "a");
    ASSERT_TRUE(together);
    EXPECT_THAT(together->machine_busy_s, testing::AnyOf(1, 2));
    const auto older = cpu_of_servers("", "");
    ASSERT_TRUE(older);
    EXPECT_THAT(older->machine_busy_s, testing::AnyOf(1, 2)) << "they have one host name";
}

// All are told to stop at once, and each is done when its server is.
TEST(Session, ProcessorTimeIsThatOfTheClientThatEndedLast) {
    FakeVerbs slow;
    FakeVerbs fast;
    slow.be_slow(2ms);
    const Plan plan{.verbs = {Verb::Send},
                    .modes = {Mode::Bandwidth},
                    .sizes = {64},
                    .iterations = 200,
                    .direction = Direction::Reverse,
                    .verify = Verify::Off,
                    .seed = 5};
    Pair first(slow, 20s);
    Pair second(fast, 20s);
    {
        std::vector<Client> clients;
        for (auto& [pair, verbs] : {std::pair(&first, &slow), std::pair(&second, &fast)}) {
            auto client = pair->client(*verbs);
            ASSERT_TRUE(client) << client.error().message();
            clients.push_back(std::move(*client));
        }
        const auto result = conduct(clients, expand(plan).front());
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->usage.client.cpu);
        ASSERT_EQ(result->bandwidth->parts.size(), 2U);
        // Of the fast one it would be a few milliseconds.
        const auto slowest = static_cast<double>(result->bandwidth->parts.front().elapsed_ns);
        EXPECT_GE(result->usage.client.cpu->window_s * 1e9, slowest / 2);
    }
    EXPECT_TRUE(first.outcome());
    EXPECT_TRUE(second.outcome());
}

// A server whose client is done waits for no message any more, however long the others take: here
// until it has ended.
TEST(Session, ClientThatTakesLongerThanPatienceEndsNoOther) {
    FakeVerbs fast;
    FakeVerbs slow;
    const Plan plan{.verbs = {Verb::Send},
                    .modes = {Mode::Latency, Mode::Bandwidth},
                    .sizes = {100},
                    .iterations = 100,
                    .polls = {{.mode = PollMode::Event}},
                    .verify = Verify::Off,
                    .seed = 5};
    Pair first(fast, 20s);
    Pair second(slow, 20s);
    {
        test::Wire wire(first.control(), {.answered = [&](base::Json& frame) {
                            if (frame["type"] == "stopped")
                                slow.go_on();
                        }});
        auto one = Client::start(fast, wire.control(first.stop), options(20s));
        ASSERT_TRUE(one) << one.error().message();
        auto other = second.client(slow);
        ASSERT_TRUE(other) << other.error().message();
        std::vector<Client> clients;
        clients.push_back(std::move(*one));
        clients.push_back(std::move(*other));
        for (const Point& each : expand(plan)) {
            slow.go_silent(slow.messages() + 20);  // behind the warm-up
            const auto result = conduct(clients, each);
            ASSERT_TRUE(result) << result.error().message();
        }
    }
    EXPECT_TRUE(first.outcome());
    EXPECT_TRUE(second.outcome());
}

// Over a socket pair both ends have the address zero, and so has the device of rdma_cm here.
class RdmaCm : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Transports, RdmaCm, testing::Bool(), [](const auto& iwarp) {
    return iwarp.param ? "Iwarp" : "Roce";
});

TEST_P(RdmaCm, ConnectsEveryLane) {
    test::FakeDevice device = test::loopback_device();
    device.iwarp = GetParam();
    for (const auto& [verb, direction] : {std::pair{Verb::Send, Direction::Both},
                                          std::pair{Verb::Write, Direction::Forward},
                                          std::pair{Verb::Read, Direction::Reverse}}) {
        FakeVerbs verbs({device});
        test::FakeCm cm(verbs, {{.name = "rxe0", .address = Address{}, .iwarp = GetParam()}});
        SideOptions side = options();
        side.cm = &cm;
        side.by_cm = true;
        {
            Pair pair(verbs, side);
            {
                const Plan plan{.verbs = {verb},
                                .modes = {Mode::Bandwidth},
                                .sizes = {1000},
                                .iterations = 300,
                                .qps = {5},
                                .threads = 2,
                                .direction = direction,
                                .connect = Connect::Cm,
                                .seed = 5};
                auto client = pair.client(verbs);
                ASSERT_TRUE(client) << client.error().message();
                const auto result = conduct({&*client, 1}, expand(plan).front());
                ASSERT_TRUE(result) << result.error().message();
                EXPECT_FALSE(result->checked.wrong);
                EXPECT_EQ(result->bandwidth->messages, direction == Direction::Both ? 600U : 300U);
            }
            EXPECT_TRUE(pair.outcome());
        }
        EXPECT_EQ(cm.objects(), 0U);
        EXPECT_EQ(cm.complaint(), "");
        EXPECT_EQ(verbs.objects(), 0U);
        EXPECT_EQ(verbs.complaint(), "");
    }
}

TEST(Session, ServerThatRdmaCmCannotReachIsNamed) {
    FakeVerbs verbs;
    test::FakeCm cm(verbs, {{.name = "rxe0", .address = Address{}}});
    cm.fail(test::FakeCm::Call::Connect, ENETUNREACH);
    SideOptions side = options(20s);
    side.cm = &cm;
    Pair pair(verbs, side);
    {
        Point p = point(Verb::Send, Mode::Bandwidth);
        p.connect = Connect::Cm;
        auto client = pair.client(verbs);
        ASSERT_TRUE(client);
        const auto result = conduct({&*client, 1}, p);
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message(), HasSubstr("opening send bw"));
    }
    EXPECT_FALSE(pair.outcome());
    EXPECT_EQ(verbs.objects(), 0U);
}

}  // namespace
}  // namespace perf
