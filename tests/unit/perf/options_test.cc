// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/commands.h"
#include "perf/suites/kv/kv.h"
#include "perf/system/tcp.h"
#include "tests/unit/perf/fake_verbs.h"

namespace perf {
namespace {

using testing::HasSubstr;

base::Result<Command> parse_words(std::vector<const char*> words) {
    words.insert(words.begin(), "rdma-perf");
    return parse_command_line(static_cast<int>(words.size()), words.data());
}

template <class T>
T get(std::vector<const char*> words) {
    auto command = parse_words(std::move(words));
    EXPECT_TRUE(command) << command.error().message();
    return std::get<T>(*command);
}

std::string refusal(std::vector<const char*> words) {
    const auto command = parse_words(std::move(words));
    EXPECT_FALSE(command);
    if (command)
        return "";
    EXPECT_EQ(command.error().code, base::Code::Usage);
    return command.error().message();
}

TEST(Options, RunByDefaultIsWhatAPersonWants) {
    const auto run = get<RunOptions>({"run", "10.9.0.2"});
    EXPECT_EQ(run.hosts, std::vector<std::string>{"10.9.0.2"});
    EXPECT_EQ(run.port, kDefaultPort);
    const Plan& plan = run.measure.plan;
    EXPECT_EQ(plan.verbs.size(), 3U);
    EXPECT_EQ(plan.modes.size(), 2U);
    EXPECT_EQ(plan.sizes, (std::vector<uint32_t>{64, 4096, 65536}));
    EXPECT_EQ(plan.time_ms, 500U);
    EXPECT_EQ(plan.verify, Verify::Edges);
    EXPECT_EQ(run.measure.side.timeout, std::chrono::seconds(5));
    EXPECT_EQ(run.measure.side.wish.attach_file, "/run/rdma/attach.json");
}

TEST(Options, NegativeTestsAreAskedForOnBothSides) {
    EXPECT_FALSE(get<ServeOptions>({"serve"}).side.allow_isolation_tests);
    EXPECT_TRUE(get<ServeOptions>({"serve", "--allow-isolation-tests"}).side.allow_isolation_tests);
    const auto isolate = get<SuiteCommand>({"isolate", "10.9.0.2", "--json", "-"});
    EXPECT_EQ(isolate.look.peer, "10.9.0.2");
    EXPECT_EQ(isolate.look.port, kDefaultPort);
    EXPECT_EQ(isolate.look.json, "-");
    EXPECT_THAT(refusal({"isolate"}), HasSubstr("host"));
}

TEST(Options, RunInFull) {
    const auto run = get<RunOptions>({"run",     "h",         "--port",        "7",
                                      "--verb",  "read,send", "--mode",        "lat",
                                      "--size",  "2..8:*2",   "--iterations",  "100",
                                      "--depth", "32",        "--poll",        "event",
                                      "--mtu",   "2048",      "--verify",      "off",
                                      "--seed",  "9",         "--device",      "rxe1",
                                      "--gid",   "3",         "--timeout",     "250ms",
                                      "--json",  "-",         "--explain-gid", "--attach-file",
                                      "/x"});
    EXPECT_EQ(run.port, 7);
    const Plan& plan = run.measure.plan;
    EXPECT_EQ(plan.verbs, (std::vector<Verb>{Verb::Read, Verb::Send}));
    EXPECT_EQ(plan.iterations, 100U);
    EXPECT_EQ(plan.time_ms, 0U);
    EXPECT_EQ(plan.depths, std::vector{32U});
    EXPECT_EQ(plan.mtu, 2048U);
    EXPECT_EQ(plan.polls, std::vector{Poll{.mode = PollMode::Event}});
    EXPECT_EQ(plan.verify, Verify::Off);
    EXPECT_EQ(plan.seed, 9U);
    EXPECT_EQ(run.measure.side.wish.device, "rxe1");
    EXPECT_EQ(run.measure.side.wish.gid_index, 3U);
    EXPECT_EQ(run.measure.side.timeout, std::chrono::milliseconds(250));
    EXPECT_EQ(run.measure.side.wish.attach_file, "/x");
    EXPECT_EQ(run.measure.json, "-");
    EXPECT_TRUE(run.measure.explain_gid);
}

TEST(Options, SeveralTransports) {
    const auto run = get<RunOptions>({"run", "h", "--transport", "rc,tcp"});
    EXPECT_EQ(run.measure.plan.transports, (std::vector<Transport>{Transport::Rc, Transport::Tcp}));
}

TEST(Options, Serve) {
    const auto plain = get<ServeOptions>({"serve"});
    EXPECT_TRUE(plain.bind.empty());
    EXPECT_FALSE(plain.once);
    EXPECT_EQ(plain.max_threads, 0U);
    const auto full = get<ServeOptions>(
        {"serve", "--bind", "10.9.0.1", "--bind", "fd00::1", "--once", "--max-threads", "8"});
    EXPECT_EQ(full.max_threads, 8U);
    for (const char* wrong : {"0", "2049", "many"})
        EXPECT_THAT(refusal({"serve", "--max-threads", wrong}), HasSubstr("--max-threads"));
    EXPECT_EQ(full.bind, (std::vector<std::string>{"10.9.0.1", "fd00::1"}));
    EXPECT_TRUE(full.once);
}

TEST(Options, RepetitionsAndOutputs) {
    EXPECT_EQ(get<LoopOptions>({"loop"}).measure.plan.reps, 1U);
    const auto loop =
        get<LoopOptions>({"loop", "--reps", "5", "--csv", "-", "--jsonl", "f", "--json", "g"});
    EXPECT_EQ(loop.measure.plan.reps, 5U);
    EXPECT_EQ(loop.measure.csv, "-");
    EXPECT_EQ(loop.measure.jsonl, "f");
    EXPECT_THAT(refusal({"loop", "--csv", "-", "--json", "-"}), HasSubstr("standard output"));
    EXPECT_THAT(refusal({"loop", "--reps", "0"}), HasSubstr("--reps 0"));
    EXPECT_THAT(refusal({"loop", "--reps", "1001"}), HasSubstr("--reps 1001"));
    EXPECT_THAT(refusal({"loop", "--reps", "1000", "--size", "1..99:+1"}), HasSubstr("results"));
}

TEST(Options, Compare) {
    const auto plain = get<CompareOptions>({"compare", "a", "b"});
    EXPECT_EQ(plain.a, "a");
    EXPECT_EQ(plain.b, "b");
    EXPECT_TRUE(plain.allow.empty());
    EXPECT_FALSE(plain.expect);
    const auto full = get<CompareOptions>(
        {"compare", "a", "b", "--allow", "mtu,kernel", "--expect", "not-slower", "--json", "-"});
    EXPECT_EQ(full.allow, (std::vector<std::string>{"mtu", "kernel"}));
    EXPECT_EQ(full.expect, Expect::NotSlower);
    EXPECT_EQ(full.json, "-");
    (void)refusal({"compare", "a"});
    EXPECT_THAT(refusal({"compare", "a", "b", "--allow", "color"}), HasSubstr("mtu,inline,depth"));
    EXPECT_THAT(refusal({"compare", "a", "b", "--expect", "fast"}), HasSubstr("not-slower"));
}

TEST(Options, HelpAndVersion) {
    EXPECT_THAT(get<HelpText>({"--help"}).text, HasSubstr("serve"));
    EXPECT_THAT(get<HelpText>({"--version"}).text, HasSubstr("rdma-perf 0."));
}

TEST(Options, RefusalsNameOptionAndValue) {
    EXPECT_THAT(refusal({}), HasSubstr("rdma-perf --help"));
    (void)refusal({"run"});
    (void)refusal({"dance"});
    (void)refusal({"run", "h", "--what"});
    EXPECT_THAT(refusal({"run", "h", "--verb", "wirte"}), HasSubstr("wirte"));
    EXPECT_THAT(refusal({"run", "h", "--transport", "rc,udp"}), HasSubstr("udp"));
    EXPECT_THAT(refusal({"run", "h", "--transport", "tcp"}),
                HasSubstr("transport tcp has no write"));
    EXPECT_THAT(refusal({"run", "h", "--size", "0"}), HasSubstr("size '0'"));
    EXPECT_THAT(refusal({"run", "h", "--mtu", "1500"}), HasSubstr("mtu"));
    EXPECT_THAT(refusal({"run", "h", "--gid", "256"}), HasSubstr("--gid"));
    EXPECT_THAT(refusal({"run", "h", "--depth", "-1"}), HasSubstr("--depth"));
    EXPECT_THAT(refusal({"run", "h", "--timeout", "0"}), HasSubstr("time '0'"));
    (void)refusal({"run", "h", "--time", "1s", "--iterations", "5"});
    (void)refusal({"run", "h", "--interval", "1", "--iterations", "5"});
    EXPECT_THAT(refusal({"run", "h", "--interval", "x"}), HasSubstr("--interval"));
    EXPECT_THAT(refusal({"run", "h", "--time", "forever"}), HasSubstr("--interval"));
    EXPECT_THAT(refusal({"run", "h", "--time", "forever", "--interval", "1"}),
                HasSubstr("one point"));
    (void)refusal({"run", "h", "--port", "70000"});
    (void)refusal({"run", "h", "--iterations", "99999999999999999"});
    EXPECT_THAT(refusal({"loop", "--size", "1..500:+1,501..900:+1"}), HasSubstr("sizes"));
}

TEST(Options, GidsAndDoctorLook) {
    const auto gids = get<SuiteCommand>({"gids"});
    EXPECT_TRUE(gids.look.peer.empty());
    const auto doctor = get<SuiteCommand>(
        {"doctor", "--peer", "10.9.0.2", "--port", "7", "--json", "-", "--device", "rxe0"});
    EXPECT_EQ(doctor.look.peer, "10.9.0.2");
    EXPECT_EQ(doctor.look.port, 7);
    EXPECT_EQ(doctor.look.json, "-");
    EXPECT_EQ(doctor.look.side.wish.device, "rxe0");
    EXPECT_EQ(get<SuiteCommand>({"doctor"}).look.port, kDefaultPort);
    EXPECT_THAT(refusal({"gids", "--gid", "x"}), HasSubstr("--gid"));
}

// What the suite makes of its own options.
kv::Plan kv_plan(const std::string& options) {
    CLI::App app;
    const auto read = kv::declare_plan(app);
    app.parse(options);
    return read().value();
}

TEST(Options, KvByDefaultAndInFull) {
    const auto kv = get<SuiteCommand>({"kv", "h"});
    EXPECT_EQ(kv.look.peer, "h");
    EXPECT_EQ(kv.look.port, kDefaultPort);
    const kv::Plan usual = kv_plan("");
    EXPECT_EQ(usual.shape.keys, 10'000U);
    EXPECT_EQ(usual.shape.value, 64U);
    EXPECT_EQ(usual.skew, 0.99);
    EXPECT_EQ(usual.time_ms, 500U);
    EXPECT_EQ(usual.reps, 6U);
    const auto all =
        get<SuiteCommand>({"kv",     "h", "--port", "7",  "--keys", "99", "--value", "4K",
                           "--zipf", "0", "--time", "1s", "--reps", "2",  "--poll",  "event",
                           "--seed", "5", "--json", "x",  "--gid",  "3"});
    EXPECT_EQ(all.look.port, 7);
    EXPECT_EQ(all.look.json, "x");
    EXPECT_EQ(all.look.side.wish.gid_index, 3U);
    const kv::Plan plan =
        kv_plan("--keys 99 --value 4K --zipf 0 --time 1s --reps 2 --poll event --seed 5");
    EXPECT_EQ(plan.shape.keys, 99U);
    EXPECT_EQ(plan.shape.value, 4096U);
    EXPECT_EQ(plan.shape.seed, 5U);
    EXPECT_EQ(plan.skew, 0);
    EXPECT_EQ(plan.reps, 2U);
    EXPECT_EQ(plan.poll.mode, PollMode::Event);
}

// A suite is its folder and its name in one list: here nothing else has a word of it.
TEST(Options, ASuiteIsOneEntry) {
    static constexpr Suite kTrivial = {.name = "trivial",
                                       .help = "do nothing",
                                       .host = "any",
                                       .run = [](const LookOptions& look, Document& document) {
                                           document.exit =
                                               look.peer == "h" ? Exit::Threshold : Exit::Internal;
                                           return Result<>();
                                       }};
    const Suite* const suites[] = {&kTrivial};
    const char* words[] = {"rdma-perf", "trivial", "h", "--json", "-"};
    const auto command = parse_command_line(5, words, suites);
    ASSERT_TRUE(command) << command.error().message();
    test::FakeVerbs verbs;
    Stop stop;
    EXPECT_EQ(std::get<SuiteCommand>(*command).look.json, "-");
    EXPECT_EQ(run_command(*command, {verbs, stop, stdout, stderr}), Exit::Threshold);
}

TEST(Options, KvRefusals) {
    EXPECT_THAT(refusal({"kv"}), HasSubstr("host"));
    EXPECT_THAT(refusal({"kv", "h", "--keys", "0"}), HasSubstr("0 keys"));
    EXPECT_THAT(refusal({"kv", "h", "--keys", "838861"}), HasSubstr("not from 1 to 838860"));
    EXPECT_THAT(refusal({"kv", "h", "--value", "5K"}), HasSubstr("not from 1 to 4096"));
    EXPECT_THAT(refusal({"kv", "h", "--zipf", "-1"}), HasSubstr("--zipf -1"));
    EXPECT_THAT(refusal({"kv", "h", "--zipf", "nan"}), HasSubstr("--zipf nan"));
    EXPECT_THAT(refusal({"kv", "h", "--reps", "0"}), HasSubstr("--reps 0"));
    EXPECT_THAT(refusal({"kv", "h", "--poll", "never"}), HasSubstr("never"));
}

}  // namespace
}  // namespace perf
