// SPDX-License-Identifier: Apache-2.0
// The room for Open vSwitch with servers that are broken, hostile or slow: every call ends, and
// with the error that the header promises. What a good server makes of it: tests/contract.
#include <cerrno>
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "netns/ovs.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/netns/ovsdb_peer.h"

namespace netns {
namespace {

using base::Json;
using test::Peer;
using Server = test::PeerServer;

const OvsMap kOvsMarks = {{"owner", "us"}};
constexpr char kSettingsRow[] =
    R"([{"rows":[{"ovs_version":"3.1.0","other_config":["map",[]],"external_ids":["map",[]]}]}])";
constexpr char kConfigured[] = R"([{"count":1},{"rows":[{"next_cfg":5,"cur_cfg":3}]}])";

Deadline soon() {
    return Deadline::in(std::chrono::seconds(20));
}

Deadline at_once() {
    return Deadline::in(std::chrono::milliseconds(30));
}

// Returns the result of settings() when its request gets this answer.
Result<OvsSettings> settings_after(const std::function<void(Peer&, const Json&)>& answer,
                                   Deadline deadline = soon()) {
    Server server([&](Peer& peer, int /*number*/) {
        const Json request = peer.receive();
        if (!request.is_null())
            answer(peer, request);
    });
    return make_ovs(server.path())->settings(deadline);
}

Code code_after(const std::function<void(Peer&, const Json&)>& answer, Deadline deadline = soon()) {
    const auto settings = settings_after(answer, deadline);
    return settings ? Code::Usage : settings.error().code;
}

TEST(OvsRoom, ADatabaseIsASocket) {
    const test::TempDir dir;
    EXPECT_FALSE(make_ovs(dir / "db.sock")->present().value());
    EXPECT_FALSE(make_ovs(dir / "no/folder/db.sock")->present().value());
    std::ofstream(dir / "file") << "x";
    EXPECT_FALSE(make_ovs(dir / "file")->present().value());
    EXPECT_FALSE(make_ovs(dir / "file/db.sock")->present().value());
    const Server server({});
    EXPECT_TRUE(make_ovs(server.path())->present().value());
}

TEST(OvsRoom, WithoutDatabaseItSaysHowToStartOne) {
    const test::TempDir dir;
    auto settings = make_ovs(dir / "db.sock")->settings(soon());
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, Code::Unavailable);
    EXPECT_EQ(settings.error().sys, ENOENT);
    EXPECT_EQ(settings.error().text, "Open vSwitch has no database at " + (dir / "db.sock"));
    EXPECT_EQ(settings.error().fix,
              "start it: systemctl start openvswitch-switch || systemctl start openvswitch");
    Server server({});
    server.stop();
    settings = make_ovs(server.path())->settings(soon());
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, Code::Unavailable);
    EXPECT_EQ(settings.error().sys, ECONNREFUSED);
    settings = make_ovs("/" + std::string(200, 'x'))->settings(soon());
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, Code::BadConfig);
}

TEST(OvsRoom, AQueueThatIsFullIsWaitedForUntilTheDeadline) {
    const Server server({});
    std::vector<std::unique_ptr<Ovs>> waiting;
    for (int count = 0; count < 3; ++count) {
        waiting.push_back(make_ovs(server.path()));
        const auto settings = waiting.back()->settings(at_once());
        ASSERT_FALSE(settings);
        EXPECT_EQ(settings.error().code, Code::Timeout) << settings.error().message();
    }
}

TEST(OvsRoom, AnAnswerMayComeByteByByte) {
    const auto settings = settings_after([](Peer& peer, const Json& request) {
        for (const char byte : Peer::reply_to(request, kSettingsRow))
            peer.send({&byte, 1});
    });
    ASSERT_TRUE(settings) << settings.error().message();
    EXPECT_EQ(settings->version, "3.1.0");
}

TEST(OvsRoom, AnEchoIsAnsweredAndTheReplyInTheSameReadIsSeen) {
    Json answer;
    const auto settings = settings_after([&](Peer& peer, const Json& request) {
        peer.send(R"({"id":"e","method":"echo","params":[7]})" +
                  Peer::reply_to(request, kSettingsRow));
        answer = peer.receive();
    });
    ASSERT_TRUE(settings) << settings.error().message();
    EXPECT_EQ(answer.dump(), R"({"result":[7],"error":null,"id":"e"})");
}

TEST(OvsRoom, StrangeAnswersAreInternal) {
    const std::string deep = "{\"a\":" + std::string(100, '[');
    for (const std::string& text : {std::string("HTTP/1.1 400 Bad Request\r\n"),
                                    std::string("[]"),
                                    std::string("{}"),
                                    std::string("{\"id\":}"),
                                    deep,
                                    std::string(R"({"id":77,"result":[{"rows":[]}],"error":null})"),
                                    std::string(R"({"id":null,"result":[],"error":null})"),
                                    std::string(R"({"id":1,"result":{},"error":null})"),
                                    std::string(R"({"id":1,"result":[],"error":null})"),
                                    std::string(R"({"id":1,"result":[null],"error":null})"),
                                    std::string(R"({"id":1,"result":[{}],"error":null})"),
                                    std::string(R"({"id":1,"result":[{},{}],"error":null})")})
        EXPECT_EQ(code_after([&](Peer& peer, const Json&) {
                      peer.send(text);
                      (void)peer.receive();  // until the client is gone
                  }),
                  Code::Internal)
            << text;
}

TEST(OvsRoom, AnAnswerOfAHundredMegabytesIsNotRead) {
    bool whole = true;
    EXPECT_EQ(code_after([&](Peer& peer, const Json& request) {
                  const std::string block(size_t{1} << 20, 'x');
                  peer.send(R"({"id":)" + request["id"].dump() + R"(,"result":[")");
                  for (int megabytes = 0; megabytes < 100 && whole; ++megabytes)
                      whole = peer.send(block);
              }),
              Code::Internal);
    EXPECT_FALSE(whole);
}

TEST(OvsRoom, NotificationsWithoutEndAreBounded) {
    EXPECT_EQ(code_after([](Peer& peer, const Json&) {
                  const std::string update = R"({"id":null,"method":"update","params":[null,")" +
                                             std::string(size_t{64} << 10, 'x') + R"("]})";
                  while (peer.send(update)) {
                  }
              }),
              Code::Internal);
}

TEST(OvsRoom, NotificationsDoNotStopTheDeadline) {
    EXPECT_EQ(code_after(
                  [](Peer& peer, const Json&) {
                      while (peer.send(R"({"method":"locked","params":[],"id":null})")) {
                      }
                  },
                  at_once()),
              Code::Timeout);
}

TEST(OvsRoom, NoAnswerAtAllIsATimeout) {
    const auto settings =
        settings_after([](Peer& peer, const Json&) { (void)peer.receive(); }, at_once());
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, Code::Timeout);
    EXPECT_EQ(settings.error().fix, "see whether it runs: systemctl status ovsdb-server");
}

TEST(OvsRoom, AServerThatDoesNotReadIsATimeout) {
    const Server server({});  // the kernel takes the connection, and some of what is written
    const auto done = make_ovs(server.path())
                          ->configure({{"a", std::string(size_t{4} << 20, 'x')}}, {}, at_once());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::Timeout) << done.error().message();
}

TEST(OvsRoom, AServerThatClosesIsUnavailable) {
    EXPECT_EQ(code_after([](Peer&, const Json&) {}), Code::Unavailable);
    EXPECT_EQ(code_after([](Peer& peer, const Json&) { peer.send(R"({"id":1,"resu)"); }),
              Code::Unavailable);
}

TEST(OvsRoom, RefusalsHaveTheDatabasesWords) {
    const std::pair<const char*, Code> refusals[] = {
        {"constraint violation", Code::Refused},
        {"referential integrity violation", Code::Refused},
        {"not owner", Code::Refused},
        {"not supported", Code::Refused},
        {"resources exhausted", Code::Refused},
        {"I/O error", Code::Refused},
        {"aborted", Code::Refused},
        {"not allowed", Code::Refused},
        {"not leader", Code::Refused},
        {"cluster error", Code::Refused},
        {"timed out", Code::Timeout},
    };
    for (const auto& [word, code] : refusals) {
        const std::string error = R"({"error":")" + std::string(word) + R"(","details":"why"})";
        const auto at = settings_after([&](Peer& peer, const Json& request) {
            peer.send(Peer::reply_to(request, "[" + error + "]"));
        });
        ASSERT_FALSE(at) << word;
        EXPECT_EQ(at.error().code, code) << word;
        EXPECT_NE(at.error().text.find(std::string(word) + ": why"), std::string::npos)
            << at.error().text;
        EXPECT_EQ(code_after([&](Peer& peer, const Json& request) {
                      peer.send(Peer::reply_to(request, R"([{"rows":[]},)" + error + "]"));
                  }),
                  code)
            << word << " at commit";
    }
    for (const auto& [error, code] :
         {std::pair{R"({"error":"unknown database"})", Code::Unavailable},
          {R"("canceled")", Code::Unavailable},
          {R"("unknown method")", Code::Refused},
          {R"({"error":"syntax error","syntax":"{}"})", Code::Refused}})
        EXPECT_EQ(code_after([&, text = error](Peer& peer, const Json&) {
                      peer.send(R"({"id":1,"result":null,"error":)" + std::string(text) + "}");
                  }),
                  code)
            << error;
}

TEST(OvsRoom, AConnectionIsKeptUntilItFails) {
    Server server([](Peer& peer, int number) {
        for (int left = number == 0 ? 2 : 3; left > 0 && peer.answer(kSettingsRow); --left) {
        }
        if (number == 0) {  // it answers no more
            (void)peer.receive();
            peer.send("?");
        }
    });
    auto ovs = make_ovs(server.path());
    EXPECT_TRUE(ovs->settings(soon()));
    EXPECT_TRUE(ovs->settings(soon()));
    EXPECT_FALSE(ovs->settings(soon()));
    EXPECT_TRUE(ovs->settings(soon()));
    EXPECT_TRUE(ovs->settings(soon()));
    ovs.reset();
    EXPECT_EQ(server.stop(), 2);
}

TEST(OvsRoom, AServerThatWasStartedAnewIsNoError) {
    Server server([](Peer& peer, int /*number*/) { peer.answer(kSettingsRow); });
    const auto ovs = make_ovs(server.path());
    EXPECT_TRUE(ovs->settings(soon()));
    server.stop();  // the first connection is closed by now
    const Server again([](Peer& peer, int /*number*/) { peer.answer(kSettingsRow); });
    ASSERT_EQ(::rename(again.path().c_str(), server.path().c_str()), 0);
    const auto settings = ovs->settings(soon());
    EXPECT_TRUE(settings) << settings.error().message();
}

// The answer to a wait, when cur_cfg has become this.
std::string applied(int cur_cfg, const std::string& found = {}) {
    return R"([{},{"rows":[{"next_cfg":5,"cur_cfg":)" + std::to_string(cur_cfg) + "}]}" + found +
           "]";
}

TEST(OvsRoom, VswitchdIsWaitedForUntilItHasAppliedTheChange) {
    std::vector<int> seen;
    Server server([&](Peer& peer, int /*number*/) {
        peer.answer(kConfigured);
        for (const int cur_cfg : {4, 6}) {  // 4: somebody else's change
            const Json request = peer.receive();
            seen.push_back(request["params"][1]["rows"][0]["cur_cfg"].get<int>());
            EXPECT_GT(request["params"][1]["timeout"].get<int>(), 0);
            peer.send(Peer::reply_to(request, applied(cur_cfg)));
        }
        (void)peer.receive();
    });
    auto ovs = make_ovs(server.path());
    const auto done = ovs->configure({{"hw-offload", "true"}}, {}, soon());
    EXPECT_TRUE(done) << done.error().message();
    ovs.reset();
    server.stop();
    EXPECT_EQ(seen, (std::vector<int>{3, 4}));
}

TEST(OvsRoom, VswitchdThatDoesNotActIsATimeout) {
    for (const bool answers : {true, false}) {
        Server server([&](Peer& peer, int /*number*/) {
            peer.answer(kConfigured);
            if (answers)
                peer.answer(R"([{"error":"timed out","details":"\"wait\" timed out"},null])");
            (void)peer.receive();
            (void)peer.receive();
        });
        const auto done = make_ovs(server.path())->configure({}, {}, answers ? soon() : at_once());
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Code::Timeout);
        EXPECT_EQ(done.error().text, "ovs-vswitchd has not applied the change");
        EXPECT_EQ(done.error().fix, "see whether it runs: systemctl status ovs-vswitchd");
    }
}

TEST(OvsRoom, ADatabaseThatIsNotSetUpIsUnavailable) {
    Server server([](Peer& peer, int /*number*/) {
        peer.answer(R"([{"count":0},{"rows":[]}])");
        (void)peer.receive();
    });
    const auto done = make_ovs(server.path())->configure({}, {}, soon());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::Unavailable) << done.error().message();
}

TEST(OvsRoom, APortWithoutNumberIsUnavailable) {
    for (const char* number : {"-1", R"(["set",[]])"}) {
        Server server([&](Peer& peer, int /*number*/) {
            peer.answer(R"([{},{},{},{},{},{},{},{"rows":[{"next_cfg":5,"cur_cfg":4}]}])");
            peer.answer(applied(5,
                                R"(,{"rows":[{"name":"rep0","error":["set",[]],"ofport":)" +
                                    std::string(number) + R"(,"ingress_policing_rate":0}]})"));
            (void)peer.receive();
        });
        OvsPortSpec spec;
        spec.bridge = "br0";
        spec.name = "rep0";
        const auto done = make_ovs(server.path())->add_port(spec, soon());
        ASSERT_FALSE(done) << number;
        EXPECT_EQ(done.error().code, Code::Unavailable);
        EXPECT_EQ(done.error().text, "ovs-vswitchd cannot use rep0: it has no datapath for it");
    }
}

TEST(OvsRoom, APortThatChangesMeanwhileIsLookedAtAnew) {
    constexpr char kPort[] = R"([{"rows":[{"_uuid":["uuid","p"]}]}])";
    constexpr char kChanged[] = R"([{"error":"timed out","details":""},null,null,null])";
    Server server([&](Peer& peer, int number) {
        for (int tries = number == 0 ? 1 : 100; tries > 0 && peer.answer(kPort); --tries)
            peer.answer(kChanged);
        peer.answer(R"([{"rows":[]}])");
        (void)peer.receive();
    });
    const auto gone = make_ovs(server.path())->remove_ports(kOvsMarks, soon());
    EXPECT_TRUE(gone) << gone.error().message();
    const auto busy = make_ovs(server.path())->remove_ports(kOvsMarks, soon());
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, Code::Busy) << busy.error().message();
}

}  // namespace
}  // namespace netns
