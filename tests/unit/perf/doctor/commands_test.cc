// SPDX-License-Identifier: Apache-2.0
// gids and doctor as a person runs them, with a fake provider and this machine's network.
#include "perf/command/commands.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netns/base/files.h"
#include "perf/suites/doctor/doctor.h"
#include "perf/system/tcp.h"
#include "tests/unit/perf/doctor/fixture.h"
#include "tests/unit/perf/document_check.h"

namespace perf {

extern const Suite kGids, kDoctor;

namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class Look : public testing::Test {
  protected:
    Look() {
        look_.side.timeout = 1s;
        look_.side.wish.attach_file = "/nonexistent/attach.json";
        look_.json = dir_ / "answer.json";
    }

    Exit ask(const Suite& suite, test::FakeVerbs& verbs) {
        const std::string out_file = dir_ / "out";
        std::FILE* out = std::fopen(out_file.c_str(), "w");
        const Exit exit =
            run_command(SuiteCommand{&suite, look_, suite.run}, {verbs, stop_, out, out});
        (void)std::fclose(out);
        base::RealFiles files;
        text_ = files.read(out_file, 1U << 20U).value();
        auto json = files.read(look_.json, 1U << 20U);
        if (json)
            json_ = base::parse_json(*json, "answer").value();
        EXPECT_EQ(verbs.objects(), 0U);
        return exit;
    }

    test::TempDir dir_;
    LookOptions look_;
    Stop stop_;
    std::string text_;
    base::Json json_;
};

TEST_F(Look, GidsShowsTheTableAndTheChoice) {
    test::FakeVerbs verbs;
    look_.peer = "127.0.0.1";
    EXPECT_EQ(ask(kGids, verbs), Exit::Ok) << text_;
    EXPECT_THAT(text_, HasSubstr("source address towards the peer: 127.0.0.1"));
    EXPECT_THAT(text_, HasSubstr("* rxe0"));
    EXPECT_EQ(json_["kind"], "gids");
    EXPECT_THAT(test::schema_problems(json_), testing::IsEmpty());
    ASSERT_EQ(json_["gids"].size(), 2U);
    EXPECT_EQ(json_["gids"][1]["chosen"], true);
    EXPECT_EQ(json_["gids"][1]["address"], "127.0.0.1");
    EXPECT_EQ(json_["gids"][0]["usable"], false);
}

TEST_F(Look, GidsWithoutAUsableOneIsExitSix) {
    auto device = test::loopback_device();
    device.gids = {test::gid_row(1, "192.0.2.77")};
    test::FakeVerbs verbs({device});
    EXPECT_EQ(ask(kGids, verbs), Exit::Environment);
    EXPECT_THAT(text_, HasSubstr("foreign"));
    EXPECT_THAT(text_, HasSubstr("no GID is usable"));
    EXPECT_EQ(json_["gids"][0]["chosen"], false);
    EXPECT_EQ(json_["errors"][0]["code"], "unsupported");
}

TEST_F(Look, GidsOfAPeerThatHasNoName) {
    test::FakeVerbs verbs;
    look_.peer = "no such host";
    EXPECT_EQ(ask(kGids, verbs), Exit::Peer);
    EXPECT_THAT(text_, HasSubstr("no such host"));
    EXPECT_EQ(json_["errors"].size(), 1U);
    EXPECT_THAT(test::schema_problems(json_), testing::IsEmpty());
}

TEST_F(Look, GatherSeesTheProviderAndThePeer) {
    const test::Root root;
    test::FakeVerbs verbs;
    const auto listeners = listen_on({"127.0.0.1"}, 0);
    ASSERT_TRUE(listeners);
    const std::string& name = listeners->front().name;
    look_.peer = "127.0.0.1";
    look_.port = static_cast<uint16_t>(std::stoi(name.substr(name.rfind(':') + 1)));
    const Scene scene = gather(look_, verbs, stop_, root.path());
    ASSERT_EQ(scene.devices.size(), 1U);
    EXPECT_FALSE(scene.devices[0].error);
    EXPECT_EQ(scene.devices[0].ports.at(0).active_mtu, 1024U);
    const auto lo = std::ranges::find(scene.interfaces, "lo", &Interface::name);
    ASSERT_NE(lo, scene.interfaces.end());
    EXPECT_GT(lo->mtu, 0U);
    ASSERT_TRUE(scene.peer);
    EXPECT_FALSE(scene.peer->connect_error);
    EXPECT_NE(scene.found.chosen(), nullptr);
}

TEST_F(Look, DoctorNeverWaitsLongForADeadPeer) {
    test::FakeVerbs verbs;
    uint16_t port = 0;
    {
        const auto listeners = listen_on({"127.0.0.1"}, 0);
        const std::string& name = listeners.value().front().name;
        port = static_cast<uint16_t>(std::stoi(name.substr(name.rfind(':') + 1)));
    }
    look_.peer = "127.0.0.1";
    look_.port = port;
    EXPECT_EQ(ask(kDoctor, verbs), Exit::Environment);
    EXPECT_THAT(text_, testing::StartsWith("here rxe0 ("));
    EXPECT_THAT(text_, HasSubstr("fail     peer"));
    EXPECT_EQ(json_["usable"], false);
    EXPECT_EQ(json_["kind"], "doctor");
    EXPECT_THAT(test::schema_problems(json_), testing::IsEmpty());
}

TEST_F(Look, DoctorOfAForeignDevice) {
    const test::Root root;
    auto foreign = test::loopback_device("mlx5_0");
    foreign.open_error = EPERM;
    test::FakeVerbs verbs({foreign});
    const auto diagnoses = examine(gather(look_, verbs, stop_, root.path()));
    EXPECT_THAT(to_text(diagnoses), HasSubstr("fail     access"));
}

TEST(Route, SourcesOfAnAddress) {
    const auto sources = sources_towards("127.0.0.1");
    ASSERT_TRUE(sources);
    EXPECT_EQ(sources->front().text(), "127.0.0.1");
}

}  // namespace
}  // namespace perf
