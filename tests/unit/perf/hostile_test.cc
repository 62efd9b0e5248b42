// SPDX-License-Identifier: Apache-2.0
// Peers that are not ours: a server believes nothing of a client, and a client nothing of a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/session.h"
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

// ---- a client that is not ours
// --------------------------------------------------------------------

class Hostile : public testing::Test {
  protected:
    // Sends the frames one after the other; the last answer, or the error of the first refusal.
    Result<Json> say(const std::vector<Json>& frames) {
        Pair pair(verbs_);
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
        return message("open", {{"point", to_json(p)}, {"endpoint", to_json(endpoint)}});
    }

    FakeVerbs verbs_;
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
    old["protocol"] = 0;
    EXPECT_THAT(refusal({old}), HasSubstr("protocol 1 here"));
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
    EXPECT_THAT(refusal({hello(), device(), open(), message("fill", {{"round", 0}})}),
                HasSubstr("only for read"));
    EXPECT_THAT(refusal({hello(), device(), open(), message("emit", {{"round", 0}})}),
                HasSubstr("only for a ping-pong"));
    EXPECT_THAT(refusal({hello(),
                         device(),
                         open(point(Verb::Read, Mode::Bandwidth)),
                         message("verify", {{"round", 0}})}),
                HasSubstr("not for read"));
    EXPECT_THAT(refusal({hello(),
                         device(),
                         open(point(Verb::Read, Mode::Bandwidth)),
                         message("fill", {{"round", -1}})}),
                HasSubstr("round"));
}

TEST_F(Hostile, OtherKindOfGidIsExplained) {
    Json other = device();
    other["gid_type"] = "IB";
    EXPECT_THAT(refusal({hello(), other}), HasSubstr("the client uses GID 127.0.0.1 (IB)"));
}

TEST_F(Hostile, ClientThatOnlyConnectsIsNoError) {
    Pair pair(verbs_);
    { const Control control = pair.control(); }
    EXPECT_FALSE(pair.outcome());
}

// ---- a server that is not ours
// --------------------------------------------------------------------

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
