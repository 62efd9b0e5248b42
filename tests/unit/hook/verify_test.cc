// SPDX-License-Identifier: Apache-2.0
// rdmactl verify over a fake host: two containers, and programs that follow a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {

using hook::ctl::listening_port;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr pid_t kSecond = 4712;

class Verify : public testing::Test {
  protected:
    Verify() : one_(fake_, state_, "one"), two_(fake_, state_, "two") {
        one_.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
        two_.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.2/24"}};
        two_.init = kSecond;
        two_.network = "/run/netns/container2";
        const NetnsId second = fake_.world.add_netns();
        fake_.world.engine_paths[two_.network] = second;
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        options_.container = id(one_);
    }

    void start_both() {
        const auto one = one_.start();
        ASSERT_TRUE(one) << one.error().message();
        const auto two = two_.start();
        ASSERT_TRUE(two) << two.error().message();
        second_ns_ = fake_.world.netns_of(kSecond);
    }

    // The first twelve digits of its id.
    static std::string id(const Life& life) {
        const std::string& bundle = life.bundle();
        const std::string tail = "/userdata";
        return bundle.substr(bundle.size() - tail.size() - 64, 12);
    }

    base::Result<hook::ctl::Answer> verify() {
        netns::Host host = fake_.host();
        return hook::ctl::verify(options_, host);
    }

    [[nodiscard]] const FakePrograms::Started& started(size_t number) const {
        return fake_.programs.started.at(number);
    }

    void says(size_t program, const std::string& text, bool to_stderr = false) {
        fake_.programs.script.push_back({.program = program,
                                         .ended = false,
                                         .to_stderr = to_stderr,
                                         .text = text,
                                         .status = 0});
    }

    void ends(size_t program, int status) {
        fake_.programs.script.push_back(
            {.program = program, .ended = true, .to_stderr = false, .text = {}, .status = status});
    }

    // The server listens; the client writes a table and ends, then the server.
    void script_a_run(int client_status) {
        says(0, "rdma-perf: listening on 10.9.", true);
        says(0, "0.2:40000\n", true);
        says(1, "write bw 64 B ok\n");
        ends(1, client_status);
        says(0, "rdma-perf: client 10.9.0.1: done\n", true);
        ends(0, 0);
    }

    FakeHost fake_;
    StateDir state_;
    Life one_;
    Life two_;
    hook::ctl::Options options_;
    NetnsId second_ns_;
};

TEST_F(Verify, ServesInTheSecondAndRunsInTheFirst) {
    start_both();
    options_.peer = id(two_);
    script_a_run(0);
    const auto answer = verify();
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->status, 0);
    EXPECT_THAT(answer->text, HasSubstr("server in " + id(two_) + ": status 0"));
    EXPECT_THAT(answer->text, HasSubstr("client in " + id(one_) + ": status 0"));
    EXPECT_THAT(answer->text, HasSubstr("write bw 64 B ok"));
    EXPECT_THAT(answer->text, HasSubstr("client 10.9.0.1: done"));
    ASSERT_EQ(fake_.programs.started.size(), 2U);
    EXPECT_EQ(started(0).ns, second_ns_);
    EXPECT_EQ(started(1).ns, fake_.world.netns_of(World::kContainer));
    EXPECT_EQ(started(0).program.path, "/usr/bin/rdma-perf");
    EXPECT_TRUE(fake_.programs.killed.empty());
}

TEST_F(Verify, ArgumentsNameDeviceAddressAndAttachFile) {
    start_both();
    options_.peer = id(two_);
    script_a_run(0);
    ASSERT_TRUE(verify());
    const auto& serve = started(0).program.arguments;
    const auto& run = started(1).program.arguments;
    EXPECT_THAT(run, testing::Not(testing::Contains("--cm")));
    EXPECT_EQ(serve[0], "serve");
    EXPECT_THAT(serve, Contains("--once"));
    EXPECT_THAT(serve, Contains("10.9.0.2"));
    EXPECT_EQ(run[0], "run");
    EXPECT_THAT(run, Contains("40000"));
    EXPECT_EQ(run.back(), "10.9.0.2");
    for (const auto* arguments : {&serve, &run}) {
        EXPECT_THAT(*arguments, Contains("--device"));
        EXPECT_THAT(*arguments, Contains(HasSubstr(state_.path() + "/attach/")));
    }
    EXPECT_NE(serve, run);
    EXPECT_THAT(started(0).program.environment, ElementsAre(HasSubstr("PATH="), "LC_ALL=C"));
}

TEST_F(Verify, TheStatusIsTheClients) {
    start_both();
    options_.peer = id(two_);
    script_a_run(3);
    EXPECT_EQ(verify()->status, 3);
}

TEST_F(Verify, AHostNeedsNoServerOfOurs) {
    ASSERT_TRUE(one_.start());
    options_.peer = "--help";
    ends(0, 5);
    EXPECT_EQ(verify()->status, 5);
    const auto& run = started(0).program.arguments;
    EXPECT_EQ(run[run.size() - 2], "--") << "a host is never an option";
    EXPECT_EQ(run.back(), "--help");
}

TEST_F(Verify, AloneIsALoop) {
    ASSERT_TRUE(one_.start());
    options_.json = true;
    says(0, R"({"schema":"rdma-perf/1"})");
    ends(0, 0);
    const auto answer = verify();
    ASSERT_TRUE(answer);
    EXPECT_EQ(started(0).program.arguments[0], "loop");
    EXPECT_EQ(answer->json["client"]["out"]["schema"], "rdma-perf/1");
}

TEST_F(Verify, ADeadContainerIsNotEntered) {
    start_both();
    options_.peer = id(two_);
    fake_.world.processes.erase(kSecond);
    const Error answer = error_of(verify());
    EXPECT_EQ(answer.code, base::Code::Unavailable);
    EXPECT_THAT(answer.message(), HasSubstr("is not running"));
    EXPECT_TRUE(fake_.programs.started.empty());
    options_.container = "nobody";
    EXPECT_EQ(verify().error().code, base::Code::Unavailable);
}

TEST_F(Verify, AContainerThatIsBeingCreatedIsNotEntered) {
    ASSERT_TRUE(one_.precreate());
    EXPECT_THAT(verify().error().message(), HasSubstr("is not running"));
}

TEST_F(Verify, AnotherNamespaceThanTheAttachmentsIsRefused) {
    ASSERT_TRUE(one_.start());
    fake_.world.processes[World::kContainer].ns = fake_.world.host;
    EXPECT_EQ(verify().error().code, base::Code::Refused);
    EXPECT_TRUE(fake_.programs.started.empty());
}

TEST_F(Verify, IwarpIsConnectedByRdmaCm) {
    for (Life* life : {&one_, &two_})
        life->annotations["rdma.mode"] = "softiwarp";
    start_both();
    options_.peer = id(two_);
    script_a_run(0);
    ASSERT_TRUE(verify());
    EXPECT_THAT(started(1).program.arguments, testing::Contains("--cm"));
}

TEST_F(Verify, AnAmbiguousPrefixIsRefused) {
    start_both();
    options_.container = "";
    const Error answer = error_of(verify());
    EXPECT_EQ(answer.code, base::Code::Usage);
    EXPECT_THAT(answer.message(), HasSubstr("several containers"));
}

TEST_F(Verify, AServerThatDoesNotListenEndsIt) {
    start_both();
    options_.peer = id(two_);
    says(0, "rdma-perf: no GID leads to the peer\n", true);
    ends(0, 6);
    const auto answer = verify();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 6);
    EXPECT_THAT(answer->text, HasSubstr("no GID leads to the peer"));
    EXPECT_THAT(answer->text, HasSubstr("not verified: the server ended before it listened"));
    EXPECT_EQ(fake_.programs.started.size(), 1U);
}

TEST_F(Verify, TheDeadlineKillsBoth) {
    start_both();
    options_.peer = id(two_);
    says(0, "rdma-perf: listening on 10.9.0.2:40000\n", true);
    const auto answer = verify();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, base::exit_status(base::Code::Timeout));
    EXPECT_THAT(answer->text, HasSubstr("listening on"));
    EXPECT_THAT(fake_.programs.killed, testing::UnorderedElementsAre(0U, 1U));
}

TEST_F(Verify, AClientWithoutItsServerIsKilled) {
    start_both();
    options_.peer = id(two_);
    says(0, "rdma-perf: listening on 10.9.0.2:40000\n", true);
    ends(0, 139);
    const auto answer = verify();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 139) << "the server's, since the client has none";
    EXPECT_THAT(fake_.programs.killed, ElementsAre(1U));
}

TEST_F(Verify, AServerThatStaysIsKilledAfterTheClient) {
    start_both();
    options_.peer = id(two_);
    says(0, "rdma-perf: listening on 10.9.0.2:40000\n", true);
    ends(1, 0);
    const auto answer = verify();
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->text, HasSubstr("killed"));
    EXPECT_THAT(fake_.programs.killed, ElementsAre(0U));
}

TEST(VerifyWords, ListeningPort) {
    EXPECT_EQ(listening_port("rdma-perf: listening on 10.9.0.1:18600\n"), "18600");
    EXPECT_EQ(listening_port("x\nrdma-perf: listening on [fd00::1]:7\nmore"), "7");
    EXPECT_FALSE(listening_port("rdma-perf: listening on 10.9.0.1:186"));
    EXPECT_FALSE(listening_port("listening on nothing\n"));
    EXPECT_FALSE(listening_port("listening on a:0\n"));
    EXPECT_FALSE(listening_port("listening on a:99999\n"));
    EXPECT_FALSE(listening_port(""));
}

}  // namespace
}  // namespace test
