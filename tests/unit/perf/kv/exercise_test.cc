// SPDX-License-Identifier: Apache-2.0
// Both sides of the key-value exercise over the fake provider, and peers that are not ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/suites/kv/kv.h"
#include "perf/suites/kv/table.h"
#include "tests/unit/perf/session_pair.h"

namespace perf::kv {
namespace {

using base::Code;
using base::Deadline;
using base::Json;
using base::Result;
using test::FakeVerbs;
using test::Fault;
using testing::HasSubstr;
using namespace std::chrono_literals;

Plan short_plan(uint32_t value = 64, PollMode poll = PollMode::Yield) {
    return {.shape = {.keys = 300, .value = value, .seed = 9},
            .skew = 0.99,
            .time_ms = 10,
            .reps = 1,
            .poll = {.mode = poll, .spin_us = 5}};
}

TEST(Links, AnAnswerRidesInItsRequestWhereTheAdapterLikesThat) {
    Device device;
    const auto inline_bytes = [&](uint32_t vendor, size_t message) {
        device.attr.vendor_id = vendor;
        return link_options(device, message, 0).inline_bytes;
    };
    EXPECT_EQ(inline_bytes(0x15b3, 220), 220U);
    EXPECT_EQ(inline_bytes(0x15b3, 221), 0U);
    EXPECT_EQ(inline_bytes(0x1d0f, 32), 32U);
    EXPECT_EQ(inline_bytes(0x1d0f, 33), 0U);
}

using Trials = std::vector<Trial>;

// Opens, runs a trial of each method, and closes; what has gone wrong, or both trials.
Result<Trials> both(FakeVerbs& verbs,
                    const Plan& plan,
                    std::vector<Method> methods = {Method::Send, Method::Read},
                    std::chrono::milliseconds timeout = 2s) {
    Pair pair(verbs, timeout);
    auto trials = [&]() -> Result<Trials> {
        perf::Client client = TRY(pair.client(verbs));
        const auto exercise = TRY(Exercise::open(client, plan, timeout));
        Trials out;
        for (const Method method : methods) {
            const auto version = static_cast<uint32_t>(out.size()) + 1;
            out.push_back(TRY(exercise->run(method, 1, version)));
        }
        TRY(exercise->close());
        return out;
    }();
    (void)pair.outcome();
    EXPECT_EQ(verbs.objects(), 0U) << "objects are left";
    EXPECT_EQ(verbs.complaint(), "");
    return trials;
}

class EveryPoll : public testing::TestWithParam<PollMode> {};

TEST_P(EveryPoll, BothMethodsBringEveryValue) {
    for (const uint32_t value : {1U, 64U, 200U, 4096U}) {
        FakeVerbs verbs;
        const auto trials = both(verbs,
                                 short_plan(value, GetParam()),
                                 {Method::Send, Method::Read, Method::Read, Method::Send});
        ASSERT_TRUE(trials) << trials.error().message();
        for (const Trial& trial : *trials) {
            EXPECT_FALSE(trial.wrong) << trial.wrong->what;
            EXPECT_GT(trial.gets, 0U);
            EXPECT_EQ(trial.latency.samples, trial.gets);
            EXPECT_GT(trial.elapsed_ns, 0U);
            EXPECT_TRUE(trial.usage.client.cpu && trial.usage.server.cpu);
            EXPECT_EQ(trial.reads >= trial.gets, trial.method == Method::Read);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Kv,
    EveryPoll,
    testing::Values(PollMode::Spin, PollMode::Yield, PollMode::Event, PollMode::Hybrid));

TEST(Kv, ReadsGoOnUntilTheKeyIsFound) {
    Plan plan = short_plan();
    plan.shape.keys = 2;
    plan.time_ms = 9;  // too short for a warm-up: every GET counts
    while (plan.shape.place(0, 0) != plan.shape.place(1, 0))
        ++plan.shape.seed;
    FakeVerbs verbs;
    const auto trials = both(verbs, plan, {Method::Read});
    ASSERT_TRUE(trials) << trials.error().message();
    const auto keys = draw_keys(2, plan.skew, plan.shape.seed, 65536);
    uint64_t reads = 0;
    for (uint64_t i = 0; i < trials->front().gets; ++i)
        reads += keys[i % keys.size()] + 1;
    EXPECT_EQ(trials->front().reads, reads);
}

// The first GET's clock so begins after the warm-up, which lasts 1 ms.
TEST(Kv, TheClockBeginsOnceTheReceiveIsPosted) {
    FakeVerbs verbs;
    verbs.receive_slowly(5ms);
    const auto trials = both(verbs, short_plan(), {Method::Send});
    ASSERT_TRUE(trials) << trials.error().message();
    EXPECT_GT(trials->front().gets, 0U);
    EXPECT_EQ(trials->front().all, trials->front().gets);
}

std::string wrong_after(Method method, Fault fault, uint64_t message) {
    FakeVerbs verbs;
    verbs.inject(fault, message);
    const auto trials = both(verbs, short_plan(), {method});
    if (!trials)
        return trials.error().message();
    return trials->front().wrong ? trials->front().wrong->what : "right";
}

TEST(Kv, WrongValuesAreFound) {
    // Each trial has one GET at least: by SEND messages 0 and 1, request and answer. Byte 40 of the
    // slot is 24 of the value.
    EXPECT_THAT(wrong_after(Method::Send, Fault::BitFlip, 1), HasSubstr("byte 24 of the value"));
    EXPECT_THAT(wrong_after(Method::Send, Fault::Stale, 1), HasSubstr("the slot is of key"));
    EXPECT_THAT(wrong_after(Method::Send, Fault::BitFlip, 0), HasSubstr("no such key"));
    EXPECT_NE(wrong_after(Method::Send, Fault::Shift, 1), "right");
    EXPECT_NE(wrong_after(Method::Read, Fault::Stale, 0), "right");
}

// The first look at a slot may be one too many for that key: then its value does not matter.
TEST(Kv, WrongValueThatIsReadIsFound) {
    FakeVerbs verbs;
    Plan plan = short_plan();
    plan.shape.keys = 1;
    verbs.inject(Fault::BitFlip, 0);
    const auto trials = both(verbs, plan, {Method::Read});
    ASSERT_TRUE(trials) << trials.error().message();
    ASSERT_TRUE(trials->front().wrong);
    EXPECT_EQ(trials->front().wrong->key, 0U);
    EXPECT_THAT(trials->front().wrong->what, HasSubstr("byte 24 of the value"));
    Findings findings;
    findings.plan = plan;
    findings.trials = *trials;
    EXPECT_THAT(trial_line(findings.trials.front()), HasSubstr("WRONG value of key 0"));
    EXPECT_EQ(to_json(findings)["results"][0]["data_ok"], false);
}

TEST(Kv, SilenceEndsAtTheDeadline) {
    for (const Method method : {Method::Send, Method::Read}) {
        FakeVerbs verbs;
        verbs.go_silent(method == Method::Send ? 1 : 0);  // by SEND the answer
        const auto trials = both(verbs, short_plan(64, PollMode::Event), {method}, 200ms);
        ASSERT_FALSE(trials);
        EXPECT_TRUE(trials.error().code == Code::Timeout ||
                    trials.error().code == Code::Unavailable)
            << trials.error().message();
    }
}

TEST(Kv, FailedCompletionIsNamed) {
    FakeVerbs verbs;
    verbs.fail_messages(0);
    const auto trials = both(verbs, short_plan(), {Method::Read});
    ASSERT_FALSE(trials);
    EXPECT_THAT(trials.error().message(), HasSubstr("etry"));
}

// ---- a client that is not ours ------------------------------------------------------------------

class HostileKv : public testing::Test {
  protected:
    // Sends the frames after the greeting; the text of the refusal.
    std::string refusal(const std::vector<Json>& frames) {
        Pair pair(verbs_);
        std::string text = "no refusal";
        {
            Control control = pair.control();
            std::vector<Json> all = {message("hello", perf::to_json(own_hello())), device()};
            all.insert(all.end(), frames.begin(), frames.end());
            for (const Json& frame : all) {
                EXPECT_TRUE(control.send(frame, Deadline::in(1s)));
                const auto answer = control.receive(Deadline::in(3s));
                EXPECT_TRUE(answer);
                if (!answer || (*answer)["type"] == "error") {
                    text = answer ? (*answer).value("text", "") : answer.error().message();
                    break;
                }
            }
        }
        outcome_ = pair.outcome();
        EXPECT_EQ(verbs_.objects(), 0U);
        return text;
    }

    static Json device() {
        return message("device",
                       perf::to_json(DeviceInfo{.device = "x",
                                                .netdev = "",
                                                .gid = parse_address("127.0.0.1").value(),
                                                .active_mtu = 1024,
                                                .initiator_depth = 1,
                                                .responder_depth = 1}));
    }

    static Json open() {
        return message("kv_open",
                       {{"keys", 10},
                        {"value_bytes", 8},
                        {"seed", 1},
                        {"poll", "auto"},
                        {"endpoints", perf::to_json(std::vector{Endpoint{.qpn = 1}})}});
    }

    static Json start(std::string_view method = "send", uint32_t version = 1) {
        return message("kv_start", {{"method", method}, {"version", version}});
    }

    FakeVerbs verbs_;
    Result<> outcome_;
};

TEST_F(HostileKv, StepsOutOfOrderAreRefused) {
    EXPECT_THAT(refusal({start()}), HasSubstr("'kv_start' is not due"));
    EXPECT_THAT(refusal({open(), open()}), HasSubstr("'kv_open' is not due"));
    EXPECT_THAT(refusal({open(), message("kv_stop")}), HasSubstr("'kv_stop' is not due"));
    EXPECT_THAT(refusal({open(), message("start")}), HasSubstr("'start' is not due"));
    EXPECT_THAT(refusal({open(), start(), start()}), HasSubstr("'kv_start' is not due"));
    EXPECT_THAT(refusal({open(), start(), message("kv_close")}), HasSubstr("not due"));
    EXPECT_THAT(refusal({message("kv_close")}), HasSubstr("not due"));
}

TEST_F(HostileKv, NothingOfTheWireIsBelieved) {
    for (const auto& [key, value] : {std::pair{"keys", Json(0)},
                                     std::pair{"keys", Json(UINT32_MAX)},
                                     std::pair{"keys", Json(-1)},
                                     std::pair{"value_bytes", Json(0)},
                                     std::pair{"value_bytes", Json(4097)},
                                     std::pair{"seed", Json("x")},
                                     std::pair{"poll", Json("never")},
                                     std::pair{"endpoints", Json::array()}}) {
        Json frame = open();
        frame[key] = value;
        EXPECT_NE(refusal({frame}), "no refusal") << key << " " << value;
        frame.erase(key);
        EXPECT_THAT(refusal({frame}), HasSubstr(key));
    }
    Json frame = open();
    frame["endpoints"].push_back(frame["endpoints"][0]);
    EXPECT_THAT(refusal({frame}), HasSubstr("2 queue pairs instead of 1"));
    EXPECT_THAT(refusal({open(), start("write")}), HasSubstr("allowed: send, read"));
    EXPECT_THAT(refusal({open(), start("read", 0)}), HasSubstr("'version' is 0"));
    EXPECT_THAT(refusal({open(), start("read", kMaxVersion + 1)}), HasSubstr("'version'"));
}

TEST_F(HostileKv, ClientThatGoesEndsTheSession) {
    for (const auto* method : {"send", "read"}) {
        const auto begin = Deadline::Clock::now();
        EXPECT_EQ(refusal({open(), start(method)}), "no refusal");
        EXPECT_FALSE(outcome_);
        EXPECT_EQ(outcome_.error().code, Code::Unavailable) << outcome_.error().message();
        EXPECT_LT(Deadline::Clock::now() - begin, 2s);
    }
}

// ---- a server that is not ours ------------------------------------------------------------------

// Answers hello and device, then as it is told, then hangs up; what the client makes of it.
Hello hello_with_kv() {
    Hello hello = own_hello();
    hello.capabilities.emplace_back(kServedExercise.capability);
    return hello;
}

std::string made_of(const std::vector<Json>& answers, const Hello& hello = hello_with_kv()) {
    FakeVerbs verbs;
    verbs.go_silent(0);
    Stop stop;
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    const std::jthread server([&, fd = fds[1]] {
        Control control(base::UniqueFd(fd), stop);
        const DeviceInfo device{.device = "x",
                                .netdev = "",
                                .gid = parse_address("127.0.0.1").value(),
                                .active_mtu = 1024,
                                .initiator_depth = 1,
                                .responder_depth = 1};
        std::vector<Json> all = {message("hello", perf::to_json(hello)),
                                 message("device", perf::to_json(device))};
        all.insert(all.end(), answers.begin(), answers.end());
        for (const Json& answer : all) {
            if (!control.receive(Deadline::in(3s)) || !control.send(answer, Deadline::in(1s)))
                return;
        }
    });
    const auto done = [&, fd = fds[0]]() -> Result<> {
        perf::Client client =
            TRY(perf::Client::start(verbs, Control(base::UniqueFd(fd), stop), options(10s)));
        const auto exercise = TRY(Exercise::open(client, short_plan(), 10s));
        TRY(exercise->run(Method::Read, 1, 1));
        return {};
    }();
    EXPECT_EQ(verbs.objects(), 0U);
    return done ? "done" : done.error().message();
}

Json opened(uint64_t length, uint32_t mtu = 1024) {
    return message(
        "kv_opened",
        perf::to_json(Opened{.endpoints = {{.qpn = 1, .length = length}}, .mtu = mtu, .poll = {}}));
}

TEST(StrangeKvServer, IsNotBelieved) {
    EXPECT_THAT(made_of({}, own_hello()), HasSubstr("has no key-value exercise"));
    EXPECT_THAT(made_of({opened(100)}), HasSubstr("smaller than it must be"));
    EXPECT_THAT(made_of({opened(1 << 30, 4096)}), HasSubstr("path MTU"));
}

TEST(StrangeKvServer, ThatDiesWhileValuesAreReadIsALostPeer) {
    const auto begin = Deadline::Clock::now();
    EXPECT_THAT(made_of({opened(1 << 30), message("kv_started")}), HasSubstr("closed"));
    EXPECT_LT(Deadline::Clock::now() - begin, 5s);
}

}  // namespace
}  // namespace perf::kv
