// SPDX-License-Identifier: Apache-2.0
// Peers that are not ours: a server believes nothing of a client, and a client nothing of a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/command/commands.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using base::Code;
using base::Deadline;
using base::Json;
using base::Result;
using test::FakeVerbs;
using testing::HasSubstr;
using namespace std::chrono_literals;

// ---- a client that is not ours ------------------------------------------------------------------

class Hostile : public testing::Test {
  protected:
    // Sends the frames one after the other; the last answer, or the error of the first refusal.
    Result<Json> say(const std::vector<Json>& frames) {
        Pair pair(verbs_, consenting(2s, allow_isolation_tests_));
        Result<Json> answer = Json();
        {
            Control control = pair.control();
            for (const Json& frame : frames) {
                TRY(control.send(frame, Deadline::in(1s)));
                answer = control.receive(Deadline::in(3s));
                if (!answer || (*answer)["type"] == "error")
                    break;
            }
        }
        outcome_ = pair.outcome();
        EXPECT_EQ(verbs_.objects(), 0U);
        return answer;
    }

    std::string refusal(const std::vector<Json>& frames) {
        const auto answer = say(frames);
        EXPECT_FALSE(outcome_);
        return answer ? (*answer).value("text", "no refusal: " + answer->dump())
                      : answer.error().message();
    }

    static Json hello() { return message("hello", to_json(own_hello())); }

    static Json device() {
        return message("device",
                       to_json(DeviceInfo{.device = "x",
                                          .netdev = "",
                                          .gid = parse_address("127.0.0.1").value(),
                                          .active_mtu = 1024,
                                          .initiator_depth = 1,
                                          .responder_depth = 1}));
    }

    static Json open(const Point& p = point(Verb::Write, Mode::Bandwidth),
                     const Endpoint& endpoint = {.qpn = 1, .length = 1 << 24}) {
        return message("open",
                       {{"point", to_json(p)}, {"endpoints", to_json(std::vector{endpoint})}});
    }

    FakeVerbs verbs_;
    bool allow_isolation_tests_ = false;
    Result<> outcome_;
};

TEST_F(Hostile, StepsOutOfOrderAreRefused) {
    EXPECT_THAT(refusal({device()}), HasSubstr("'device' is not due"));
    EXPECT_THAT(refusal({hello(), open()}), HasSubstr("'open' is not due"));
    EXPECT_THAT(refusal({hello(), hello()}), HasSubstr("'hello' is not due"));
    EXPECT_THAT(refusal({hello(), device(), message("start")}), HasSubstr("not due"));
    EXPECT_THAT(refusal({hello(), device(), open(), open()}), HasSubstr("not due"));
    EXPECT_THAT(refusal({message("format-disk")}), HasSubstr("not known"));
    EXPECT_THAT(refusal({Json{{"a", 1}}}), HasSubstr("type"));
}

TEST_F(Hostile, OtherVersionIsToldWhichSideToUpgrade) {
    Json old = hello();
    old["protocol"] = kProtocol - 2;
    const auto answer = say({old});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->value("text", ""), HasSubstr("protocol 2 here"));
    EXPECT_EQ(answer->value("fix", ""), "upgrade rdma-perf on the client");
}

TEST_F(Hostile, IsAnsweredInTheOlderVersionOfBoth) {
    for (const auto& [asked, answered] : {std::pair{kProtocol - 1, kProtocol - 1},
                                          std::pair{kProtocol, kProtocol},
                                          std::pair{kProtocol + 5, kProtocol}}) {
        Json frame = hello();
        frame["protocol"] = asked;
        const auto answer = say({frame});
        ASSERT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(answer->value("type", ""), "hello");
        EXPECT_EQ(answer->value("protocol", 0), answered);
    }
}

TEST_F(Hostile, OfVersionOneIsRefusedAPointThatHasChanged) {
    Json old = hello();
    old["protocol"] = 1;
    const Json changed = open(point(Verb::Write, Mode::Bandwidth, 1000, Transport::Uc));
    const auto answer = say({old, device(), changed});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->value("text", ""), HasSubstr("needs protocol 2, and the client"));
    EXPECT_EQ(answer->value("fix", ""), "upgrade rdma-perf on the client");
}

TEST_F(Hostile, SizesFromTheWireAreNotBelieved) {
    for (const auto& [key, value] : {std::pair{"size_bytes", 4294967295U},
                                     std::pair{"depth", 4294967295U},
                                     std::pair{"slots", 4294967295U},
                                     std::pair{"batch", 0U},
                                     std::pair{"mtu_bytes", 9000U}}) {
        Json frame = open();
        frame["point"][key] = value;
        EXPECT_THAT(refusal({hello(), device(), frame}), HasSubstr("point:")) << key;
    }
    EXPECT_THAT(refusal({hello(), device(), message("open")}), HasSubstr("needs"));
}

TEST_F(Hostile, SmallMemoryOfTheClientIsRefused) {
    EXPECT_THAT(
        refusal(
            {hello(), device(), open(point(Verb::Write, Mode::Latency), {.qpn = 1, .length = 10})}),
        HasSubstr("smaller than the point needs"));
}

TEST_F(Hostile, RoundsThatDoNotFitTheVerb) {
    EXPECT_THAT(refusal({hello(), device(), open(), message("fill", {{"lane", 0}, {"round", 0}})}),
                HasSubstr("'fill' is not for"));
    EXPECT_THAT(refusal({hello(), device(), open(), message("emit", {{"lane", 0}, {"round", 0}})}),
                HasSubstr("'emit' is not for"));
    EXPECT_THAT(refusal({hello(),
                         device(),
                         open(point(Verb::Read, Mode::Bandwidth)),
                         message("verify", {{"lane", 0}, {"round", 0}})}),
                HasSubstr("not for read"));
    EXPECT_THAT(refusal({hello(),
                         device(),
                         open(point(Verb::Read, Mode::Bandwidth)),
                         message("fill", {{"lane", 0}, {"round", -1}})}),
                HasSubstr("round"));
    EXPECT_THAT(refusal({hello(),
                         device(),
                         open(point(Verb::Read, Mode::Bandwidth)),
                         message("fill", {{"lane", 1}, {"round", 0}})}),
                HasSubstr("lane"));
    EXPECT_THAT(refusal({hello(), device(), open(), message("fetch", {{"lane", 0}, {"round", 0}})}),
                HasSubstr("'fetch' is not for"));
}

TEST_F(Hostile, CountsThatDoNotFitTheLanes) {
    const auto stop = [&](Json counts) {
        return refusal({hello(),
                        device(),
                        open(),
                        message("start"),
                        message("stop", {{"messages", std::move(counts)}})});
    };
    EXPECT_THAT(stop(7), HasSubstr("must be a list of 1"));
    EXPECT_THAT(stop(Json::array({1, 2})), HasSubstr("must be a list of 1"));
    EXPECT_THAT(stop(Json::array({-1})), HasSubstr("messages"));
    EXPECT_THAT(stop(Json::array({UINT64_MAX})), HasSubstr("out of range"));
}

TEST_F(Hostile, EndpointsThatDoNotFitTheLanes) {
    Json frame = open();
    frame["endpoints"] = Json::array();
    EXPECT_THAT(refusal({hello(), device(), frame}), HasSubstr("'endpoints'"));
    frame = open();
    frame["endpoints"].push_back(frame["endpoints"][0]);
    EXPECT_THAT(refusal({hello(), device(), frame}), HasSubstr("2 queue pairs instead of 1"));
}

TEST_F(Hostile, OtherKindOfGidIsExplained) {
    Json other = device();
    other["gid_type"] = "IB";
    EXPECT_THAT(refusal({hello(), other}), HasSubstr("the client uses GID 127.0.0.1 (IB)"));
}

TEST_F(Hostile, NegativeTestsNeedConsent) {
    EXPECT_THAT(refusal({hello(), device(), message("isolate", {{"seed", 1}})}),
                HasSubstr("does not take part"));
    EXPECT_THAT(refusal({hello(), device(), message("inspect", {{"round", 0}})}),
                HasSubstr("not due"));
}

TEST_F(Hostile, NegativeTestsAreBoundedToo) {
    allow_isolation_tests_ = true;
    const Json isolate = message("isolate", {{"seed", 1}});
    const auto said = [&](const Json& frame) {
        return refusal({hello(), device(), isolate, frame});
    };
    EXPECT_THAT(refusal({hello(), isolate}), HasSubstr("not due"));
    EXPECT_THAT(refusal({hello(), device(), message("isolate")}), HasSubstr("seed"));
    EXPECT_THAT(said(isolate), HasSubstr("not due"));
    EXPECT_THAT(said(open()), HasSubstr("not due"));
    EXPECT_THAT(said(message("probe")), HasSubstr("endpoint"));
    EXPECT_THAT(said(message("probe", {{"endpoint", {{"qpn", 1U << 24U}}}})), HasSubstr("qpn"));
    EXPECT_THAT(said(message("inspect", {{"round", -1}})), HasSubstr("round"));
    EXPECT_THAT(said(message("hear")), HasSubstr("until"));
}

TEST_F(Hostile, NobodyIsHeardBeforeListening) {
    allow_isolation_tests_ = true;
    const auto answer = say({hello(),
                             device(),
                             message("isolate", {{"seed", 1}}),
                             message("hear", {{"until", 1}}),
                             message("release"),
                             open(),
                             message("close")});
    ASSERT_TRUE(answer);
    EXPECT_EQ((*answer)["type"], "closed");
    EXPECT_TRUE(outcome_);
}

// One that writes needs nothing of the server's threads: nobody else would miss it.
TEST_F(Hostile, SilenceInAMeasurementEndsWithItsTime) {
    SideOptions side = options(1s);
    side.pause = 500ms;
    Pair pair(verbs_, side);
    Control control = pair.control();
    Point timed = point(Verb::Write, Mode::Bandwidth);
    timed.iterations = 0;
    timed.time_ms = 10;
    for (const Json& frame : {hello(), device(), open(timed), message("start")}) {
        ASSERT_TRUE(control.send(frame, Deadline::in(1s)));
        const auto answer = control.receive(Deadline::in(3s));
        ASSERT_TRUE(answer) << answer.error().message();
        ASSERT_NE((*answer)["type"], "error") << answer->dump();
    }
    const auto outcome = pair.outcome();  // though we are still there
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::Timeout) << outcome.error().message();
    EXPECT_THAT(outcome.error().message(), HasSubstr("serving write bw"));
    const auto told = control.receive(Deadline::in(1s));
    ASSERT_TRUE(told) << told.error().message();
    EXPECT_EQ((*told)["type"], "error");
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Hostile, ClientThatOnlyConnectsIsNoError) {
    Pair pair(verbs_);
    { const Control control = pair.control(); }
    EXPECT_FALSE(pair.outcome());
}

// ---- a server that is not ours ------------------------------------------------------------------

TEST(StrangeServer, GarbageIsNamed) {
    FakeVerbs verbs;
    Stop stop;
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    const base::UniqueFd raw(fds[1]);
    ASSERT_EQ(::send(raw.get(), "SSH-2.0-OpenSSH", 15, 0), 15);
    const auto client = Client::start(verbs, Control(base::UniqueFd(fds[0]), stop), options());
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, Code::BadInput);
    EXPECT_THAT(client.error().message(), HasSubstr("SSH-2.0-"));
}

TEST(StrangeServer, SilenceEndsAtTheDeadline) {
    FakeVerbs verbs;
    Stop stop;
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    const base::UniqueFd raw(fds[1]);
    const auto client = Client::start(verbs, Control(base::UniqueFd(fds[0]), stop), options(50ms));
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, Code::Timeout);
    EXPECT_THAT(client.error().message(), HasSubstr("waiting for 'hello'"));
}

}  // namespace
}  // namespace perf
