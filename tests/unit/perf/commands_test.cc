// SPDX-License-Identifier: Apache-2.0
// The commands as a person runs them, over real TCP on loopback and the fake provider.
#include "perf/command/commands.h"

#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "netns/base/json.h"
#include "perf/suites/kv/kv.h"
#include "perf/system/tcp.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/perf/document_check.h"
#include "tests/unit/perf/fake_verbs.h"
#include "tests/unit/perf/paper.h"

namespace perf {
namespace {

using base::Json;
using test::FakeVerbs;
using test::Fault;
using test::Paper;
using testing::HasSubstr;
using namespace std::chrono_literals;

MeasureOptions short_measure() {
    MeasureOptions measure;
    measure.plan = {.verbs = {Verb::Write, Verb::Read, Verb::Send},
                    .modes = {Mode::Bandwidth, Mode::Latency},
                    .sizes = {64, 5000},
                    .iterations = 200,
                    .seed = 3};
    measure.side.timeout = 2s;
    return measure;
}

class Commands : public testing::Test {
  protected:
    Exit run_loop(const MeasureOptions& measure) {
        return loop({measure}, {verbs_, stop_, out_.file(), err_.file()});
    }

    // A server on a port of its own, and that port.
    uint16_t start_server(bool once = false, uint32_t max_threads = 0) {
        ServeOptions options;
        options.bind = {"127.0.0.1"};
        options.once = once;
        options.max_threads = max_threads;
        options.side.timeout = 2s;
        server_ = std::jthread([this, options] {
            server_exit_ = serve(options, {verbs_, stop_, server_out_.file(), server_err_.file()});
        });
        const auto deadline = base::Deadline::in(5s);
        std::string text;
        while (text.find('\n') == std::string::npos && !deadline.passed())
            text = server_err_.text();
        return static_cast<uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
    }

    Exit run_against(uint16_t port, const MeasureOptions& measure = short_measure()) {
        return run({{"127.0.0.1"}, port, measure}, {verbs_, stop_, out_.file(), err_.file()});
    }

    Exit exercise_against(uint16_t port) {
        LookOptions look{.peer = "127.0.0.1", .port = port, .json = "-", .side = {}};
        look.side.timeout = 2s;
        const kv::Plan plan{.shape = {.keys = 200, .value = 64, .seed = 4},
                            .skew = 0.99,
                            .time_ms = 10,
                            .reps = 6,
                            .poll = {}};
        const Surroundings around{verbs_, stop_, out_.file(), err_.file()};
        Document document{.kind = "kv", .json = look.json, .around = around};
        return document.conclude(kv::run_exercise(look, plan, document));
    }

    void stop_server() {
        stop_.request();
        server_.join();
    }

    FakeVerbs verbs_;
    Stop stop_;
    Paper out_;
    Paper err_;
    Paper server_out_;
    Paper server_err_;
    Exit server_exit_ = Exit::Internal;
    std::jthread server_;
};

TEST_F(Commands, LoopMeasuresEveryPoint) {
    EXPECT_EQ(run_loop(short_measure()), Exit::Ok) << err_.text();
    const std::string text = out_.text();
    int rows = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 100U) << line;
        rows += line.starts_with("  ") ? 0 : 1;  // else the rest of a row
    }
    EXPECT_EQ(rows, 2 + 1 + 12) << text;
    EXPECT_THAT(text, HasSubstr("ok "));
    EXPECT_THAT(text, HasSubstr("p99.9"));
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, WrongDataIsExitThreeAndSaysWhere) {
    verbs_.inject(Fault::BitFlip, 5);
    EXPECT_EQ(run_loop(short_measure()), Exit::Corruption);
    EXPECT_THAT(out_.text(), HasSubstr("WRONG"));
    EXPECT_THAT(out_.text(), HasSubstr("wrong data, seen by the server: message 5, byte 32"));
    EXPECT_THAT(out_.text(), HasSubstr("(bit flip)"));
}

TEST_F(Commands, ARampMeasuresWithAllServersDownToOneAndBack) {
    RunOptions options;
    options.port = start_server();
    options.hosts = {"127.0.0.1", "127.0.0.1"};
    options.measure = short_measure();
    options.measure.json = "-";
    Plan& plan = options.measure.plan;
    plan.verbs = {Verb::Write};
    plan.modes = {Mode::Bandwidth};
    plan.sizes = {64};
    plan.iterations = 0;
    plan.time_ms = 5;
    plan.reps = 2;
    plan.hosts = Hosts::Ramp;
    EXPECT_EQ(run(options, {verbs_, stop_, out_.file(), err_.file()}), Exit::Ok) << err_.text();
    stop_server();
    const auto document = base::parse_json(out_.text(), "report");
    ASSERT_TRUE(document) << document.error().message();
    const Json& json = *document;
    EXPECT_THAT(test::schema_problems(json), testing::IsEmpty());
    std::vector<int> clients;
    for (const Json& result : json["results"])
        clients.push_back(result["point"]["clients"].get<int>());
    EXPECT_THAT(clients, testing::ElementsAre(2, 1, 1, 2));
    EXPECT_EQ(json["env"]["more_pairs"].size(), 1U) << "both servers are known";
    std::vector<int> summarized;
    for (const Json& row : json["summary"]) {
        if (row["metric"] == "bandwidth_bytes_per_s")
            summarized.push_back(row["point"]["clients"].get<int>() * 10 + row["n"].get<int>());
    }
    EXPECT_THAT(summarized, testing::ElementsAre(22, 12)) << "two repetitions of each";
}

TEST_F(Commands, JsonExplainsItself) {
    MeasureOptions measure = short_measure();
    measure.json = "-";
    EXPECT_EQ(run_loop(measure), Exit::Ok);
    const auto report = base::parse_json(out_.text(), "report");
    ASSERT_TRUE(report) << report.error().message();
    const Json& json = *report;
    EXPECT_EQ(json["schema"], "rdma-perf/1");
    EXPECT_EQ(json["kind"], "run");
    EXPECT_THAT(test::schema_problems(json), testing::IsEmpty());
    EXPECT_EQ(json["plan"]["seed"], 3);
    EXPECT_EQ(json["env"]["client"]["device"]["gid"], "0000:0000:0000:0000:0000:ffff:7f00:0001");
    EXPECT_EQ(json["results"].size(), 12U);
    EXPECT_EQ(json["results"][0]["verify"]["data_ok"], true);
    EXPECT_GT(json["results"][0]["bandwidth"]["bandwidth_bytes_per_s"], 0);
    EXPECT_EQ(json["results"][2]["latency"]["kind"], "half_round_trip");
    EXPECT_TRUE(json["results"][0]["percent_of_payload_limit"].is_null());
    for (const char* side : {"", "server_"}) {
        const Json& point = json["results"][0]["point"];
        EXPECT_EQ(point[std::string(side) + "polling"], "plain") << "rxe is not polled lazily";
        EXPECT_TRUE(point.contains(std::string(side) + "domain"));
    }
    EXPECT_TRUE(json["results"][0]["point"].contains("calls"));
    EXPECT_FALSE(json["results"][0]["point"].contains("server_calls")) << "it posts nothing";
    EXPECT_TRUE(json["env"]["server"]["command_line"].is_string());
    EXPECT_GT(json["results"][0]["cpu"]["client"]["window_s"], 0);
    EXPECT_GT(json["results"][2]["cpu"]["server"]["window_s"], 0);
    EXPECT_GE(json["results"][0]["cpu"]["payload_bytes"], 200 * 64);
    EXPECT_TRUE(json["results"][0]["counters"]["server"].is_object());
    EXPECT_TRUE(json["results"][0]["flags"].is_array());
    EXPECT_TRUE(json["errors"].empty());
}

TEST_F(Commands, ALoadIsBesideLatencyOnly) {
    MeasureOptions measure = short_measure();
    measure.plan.verbs = {Verb::Send};
    measure.plan.load = Load{.verb = Verb::Write, .size = 4096};
    measure.json = "-";
    EXPECT_EQ(run_against(start_server(), measure), Exit::Ok) << err_.text();
    stop_server();
    const auto report = base::parse_json(out_.text(), "report");
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_THAT(test::schema_problems(*report), testing::IsEmpty());
    ASSERT_EQ((*report)["results"].size(), 4U);
    for (const Json& result : (*report)["results"])
        EXPECT_EQ(result["load"].is_null(), result["latency"].is_null());
    EXPECT_EQ((*report)["plan"]["with"], "write:4096");
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, LoopHasAServerForTheLoad) {
    MeasureOptions measure = short_measure();
    measure.plan.modes = {Mode::Latency};
    measure.plan.load = Load{.verb = Verb::Read, .size = 4096};
    EXPECT_EQ(run_loop(measure), Exit::Ok) << err_.text();
    EXPECT_THAT(out_.text(), HasSubstr("beside read 4 KiB"));
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, TcpNeedsNoDevice) {
    MeasureOptions measure = short_measure();
    measure.plan.verbs = {Verb::Send};
    measure.plan.transports = {Transport::Tcp};
    measure.side.wish.device = "mlx5_0";  // which nobody has
    measure.json = "-";
    const uint16_t port = start_server(true);
    EXPECT_EQ(run_against(port, measure), Exit::Ok) << err_.text();
    server_.join();
    EXPECT_THAT(server_err_.text(), HasSubstr("done, 4 points"));
    const auto report = base::parse_json(out_.text(), "report");
    ASSERT_TRUE(report) << report.error().message();
    const Json& json = *report;
    EXPECT_TRUE(json["env"]["client"]["device"].is_null());
    EXPECT_TRUE(json["env"]["server"]["device"].is_null());
    EXPECT_EQ(json["results"].size(), 4U);
    EXPECT_EQ(json["results"][0]["point"]["transport"], "tcp");
    EXPECT_EQ(json["results"][0]["verify"]["data_ok"], true);
    EXPECT_THAT(err_.text(), HasSubstr("send      tcp bw"));
}

TEST_F(Commands, JsonKeepsPartialResultsAndTheReason) {
    const test::TempDir dir;
    MeasureOptions measure = short_measure();
    measure.json = dir / "report.json";
    verbs_.fail_messages(1500);
    EXPECT_EQ(run_loop(measure), Exit::Peer);
    std::stringstream text;
    text << std::ifstream(measure.json).rdbuf();
    const auto report = base::parse_json(text.str(), "report");
    ASSERT_TRUE(report);
    EXPECT_GE((*report)["results"].size(), 1U);
    EXPECT_EQ((*report)["errors"][0]["code"], "unavailable");
}

TEST_F(Commands, ServerServesClientsOneAfterTheOther) {
    const uint16_t port = start_server();
    EXPECT_EQ(run_against(port), Exit::Ok) << err_.text();
    EXPECT_EQ(run_against(port), Exit::Ok) << err_.text();
    stop_server();
    EXPECT_EQ(server_exit_, Exit::Ok);
    EXPECT_THAT(server_err_.text(), HasSubstr("done, 12 points"));
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, ServerServesEightClientsAtOnce) {
    const uint16_t port = start_server();
    std::vector<Exit> exits(8, Exit::Internal);
    {
        std::vector<std::jthread> clients;
        for (Exit& exit : exits)
            clients.emplace_back([&] { exit = run_against(port); });
    }
    EXPECT_THAT(exits, testing::Each(Exit::Ok)) << err_.text();
    stop_server();
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, ServerDropsDeadAndStrangeClients) {
    const uint16_t port = start_server();
    {
        auto dead = connect_to("127.0.0.1", port, base::Deadline::in(1s), stop_);
        ASSERT_TRUE(dead);
        auto strange = connect_to("127.0.0.1", port, base::Deadline::in(1s), stop_);
        ASSERT_TRUE(strange);
        EXPECT_EQ(::send(strange->get(), "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    }
    EXPECT_EQ(run_against(port), Exit::Ok) << err_.text();
    stop_server();
}

TEST_F(Commands, OnceEndsAfterTheFirstClient) {
    const uint16_t port = start_server(true);
    EXPECT_EQ(run_against(port), Exit::Ok) << err_.text();
    server_.join();
    EXPECT_EQ(server_exit_, Exit::Ok);
}

// The client is in this process, too: it needs the second thread.
TEST_F(Commands, AServerHasSoManyThreads) {
    const uint16_t port = start_server(false, 1);
    EXPECT_EQ(exercise_against(port), Exit::Peer);
    EXPECT_THAT(err_.text(), HasSubstr("no room for 1 thread: 1 of 1 are in use"));
    EXPECT_THAT(err_.text(), HasSubstr("--max-threads"));
    stop_server();
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, KvComparesBothWaysToGet) {
    const uint16_t port = start_server();
    EXPECT_EQ(exercise_against(port), Exit::Ok) << err_.text();
    const auto report = base::parse_json(out_.text(), "report");
    ASSERT_TRUE(report) << report.error().message();
    const Json& json = *report;
    EXPECT_EQ(json["kind"], "kv");
    EXPECT_THAT(test::schema_problems(json), testing::IsEmpty());
    EXPECT_EQ(json["plan"]["slots"], 400);
    EXPECT_EQ(json["env"]["server"]["device"]["device"], "rxe0");
    std::string order;
    for (const Json& result : json["results"]) {
        order += result["method"].get<std::string>() + " ";
        EXPECT_EQ(result["data_ok"], true);
        EXPECT_GT(result["gets_per_s"], 0);
    }
    EXPECT_EQ(order, "send read read send send read read send send read read send ");
    for (const char* method : {"send", "read"}) {
        const Json& rate = json["summary"][method]["gets_per_s"];
        EXPECT_EQ(rate["n"], 6);
        EXPECT_LE(rate["ci95"][0], rate["median"]);
    }
    EXPECT_GE(json["summary"]["read"]["reads_per_get"]["median"], 1);
    EXPECT_FALSE(json["summary"]["send"].contains("reads_per_get"));
    const Json& ratio = json["summary"]["read_over_send"];
    EXPECT_LE(ratio["ci95"][0], ratio["ratio"]);
    EXPECT_TRUE(ratio["verdict"].is_string());
    EXPECT_TRUE(json["errors"].empty());
    EXPECT_THAT(err_.text(), HasSubstr("client rxe0 ("));
    EXPECT_THAT(err_.text(), HasSubstr("\nserver rxe0 ("));
    EXPECT_THAT(err_.text(), HasSubstr("\nsend  rep 1   "));
    EXPECT_THAT(err_.text(), HasSubstr("read/send, gets per second: "));
    // The connection is good for points afterwards as before; the server is.
    EXPECT_EQ(run_against(port), Exit::Ok) << err_.text();
    stop_server();
    EXPECT_EQ(verbs_.objects(), 0U);
}

TEST_F(Commands, KvWrongValueIsExitThree) {
    const uint16_t port = start_server();
    verbs_.inject(Fault::BitFlip, 1);  // the first answer
    EXPECT_EQ(exercise_against(port), Exit::Corruption);
    EXPECT_THAT(err_.text(), HasSubstr("WRONG value of key"));
    const auto report = base::parse_json(out_.text(), "report");
    ASSERT_TRUE(report);
    EXPECT_EQ((*report)["results"].back()["data_ok"], false);
    EXPECT_THAT(test::schema_problems(*report), testing::IsEmpty());
    EXPECT_THAT((*report)["results"].back()["wrong"]["what"].get<std::string>(),
                HasSubstr("byte 24 of the value"));
    stop_server();
}

TEST_F(Commands, NobodyThereIsExitFive) {
    uint16_t port = 0;
    {
        const auto listeners = listen_on({"127.0.0.1"}, 0);
        ASSERT_TRUE(listeners);
        const std::string& name = listeners->front().name;
        port = static_cast<uint16_t>(std::stoi(name.substr(name.rfind(':') + 1)));
    }
    EXPECT_EQ(run_against(port), Exit::Peer);
    EXPECT_THAT(err_.text(), HasSubstr("rdma-perf serve --bind"));
}

TEST_F(Commands, ServerThatStopsIsALostPeer) {
    const uint16_t port = start_server();
    Stop client_stop;
    MeasureOptions measure = short_measure();
    measure.plan.iterations = 0;
    measure.plan.time_ms = 60'000;
    auto begin = base::Deadline::Clock::time_point::max();
    std::jthread stopper([&] {
        while (verbs_.messages() < 2000)
            std::this_thread::yield();
        begin = base::Deadline::Clock::now();
        stop_.request();
    });
    const Exit exit =
        run({{"127.0.0.1"}, port, measure}, {verbs_, client_stop, out_.file(), err_.file()});
    const auto end = base::Deadline::Clock::now();
    stopper.join();
    EXPECT_LT(end - begin, 2s);
    EXPECT_THAT(err_.text(), HasSubstr("measuring write bw 64 B"));
    EXPECT_TRUE(exit == Exit::Peer || exit == Exit::Interrupted) << static_cast<int>(exit);
    server_.join();
}

TEST_F(Commands, ExplainGidPrintsTheTable) {
    MeasureOptions measure = short_measure();
    measure.explain_gid = true;
    EXPECT_EQ(run_loop(measure), Exit::Ok);
    EXPECT_THAT(err_.text(), HasSubstr("verdict"));
    EXPECT_THAT(err_.text(), HasSubstr("an address of this namespace"));
}

TEST_F(Commands, NoDeviceIsExitSix) {
    MeasureOptions measure = short_measure();
    measure.side.wish.device = "mlx5_0";
    EXPECT_EQ(run_loop(measure), Exit::Environment);
    EXPECT_THAT(err_.text(), HasSubstr("no GID"));
}

TEST(ExitCodes, AreAnInterface) {
    using base::Code;
    EXPECT_EQ(exit_of(base::make_error(Code::Internal, "")), Exit{1});
    EXPECT_EQ(exit_of(base::make_error(Code::Usage, "")), Exit{2});
    EXPECT_EQ(exit_of(base::make_error(Code::Unavailable, "")), Exit{5});
    EXPECT_EQ(exit_of(base::make_error(Code::Busy, "")), Exit{5});
    EXPECT_EQ(exit_of(base::sys_error(ENOMEM, "")), Exit{6});
    EXPECT_EQ(exit_of(base::make_error(Code::BadInput, "")), Exit{8});
    EXPECT_EQ(exit_of(base::make_error(Code::Timeout, "")), Exit{124});
    EXPECT_EQ(exit_of(stopped_error()), Exit{130});
}

}  // namespace
}  // namespace perf
