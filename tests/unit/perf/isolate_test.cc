// SPDX-License-Identifier: Apache-2.0
// The negative tests against a device that keeps its barriers, and against one that lacks one.
#include "perf/suites/isolate/isolate.h"

#include <algorithm>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netns/base/files.h"
#include "perf/command/commands.h"
#include "tests/unit/perf/doctor/fixture.h"
#include "tests/unit/perf/document_check.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {

extern const Suite kIsolate;

namespace {

using base::Code;
using base::Json;
using test::FakeVerbs;
using test::Leak;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;
using namespace std::chrono_literals;
using Ids = std::vector<std::string>;

test::FakeDevice own_device() {
    auto device = test::loopback_device();
    device.gids = {test::gid_row(1, "127.0.0.1")};
    return device;
}

// Another container's.
test::FakeDevice foreign_device() {
    auto device = test::loopback_device("rxe1");
    device.gids = {test::gid_row(1, "192.0.2.77"), test::gid_row(2, "192.0.2.78")};
    return device;
}

struct Tried {
    Trials done;
    std::optional<base::Error> error;  // why not further
};

std::string text_of(const Tried& tried) {
    std::string out;
    for (const Trial& trial : tried.done)
        out += to_text(trial);
    return out;
}

class Isolation : public testing::Test {
  protected:
    Tried try_it(FakeVerbs& verbs, std::chrono::milliseconds timeout = 2s) {
        verbs.heed_memory_limit();
        Pair pair(verbs, consenting(timeout));
        Tried trials;
        const auto done = [&]() -> base::Result<> {
            Arena arena = TRY(enter(verbs, pair, timeout));
            return try_isolation(arena,
                                 [&](Trial trial) { trials.done.push_back(std::move(trial)); });
        }();
        if (!done)
            trials.error = done.error();
        (void)pair.outcome();
        EXPECT_EQ(verbs.objects(), 0U) << "objects are left";
        EXPECT_EQ(verbs.complaint(), "");
        return trials;
    }

    base::Result<Arena> enter(FakeVerbs& verbs, Pair& pair, std::chrono::milliseconds timeout) {
        const SideOptions side = options(timeout);
        return Arena::enter(TRY(Client::start(verbs, pair.control(), side)), side, root_.path());
    }

    static const Outcome& of(const Tried& trials, std::string_view id) {
        const auto it = std::ranges::find_if(
            trials.done, [&](const Trial& trial) { return trial.check->id == id; });
        EXPECT_NE(it, trials.done.end()) << id;
        return it->outcome;
    }

    static Ids with(const Tried& trials, IsolationVerdict verdict) {
        Ids ids;
        for (const Trial& trial : trials.done) {
            if (trial.outcome.verdict == verdict)
                ids.emplace_back(trial.check->id);
        }
        return ids;
    }

    test::Root root_;
};

TEST_F(Isolation, AllBarriersHold) {
    FakeVerbs verbs({own_device()});
    const Tried trials = try_it(verbs);
    ASSERT_FALSE(trials.error) << trials.error->message();
    EXPECT_EQ(trials.done.size(), kIsolationChecks.size());
    EXPECT_EQ(with(trials, IsolationVerdict::NotApplicable), Ids{"foreign_source"});
    EXPECT_EQ(with(trials, IsolationVerdict::Pass).size(), trials.done.size() - 1)
        << text_of(trials);
    EXPECT_THAT(of(trials, "read_only").observed,
                HasSubstr("write: remote access error; memory unchanged"));
    EXPECT_THAT(of(trials, "memory_limit").observed, HasSubstr("Cannot allocate memory"));
}

struct LeakCase {
    Leak leak;
    Ids failed;
};

class IsolationLeak : public Isolation, public testing::WithParamInterface<LeakCase> {};

TEST_P(IsolationLeak, IsFoundByItsChecksAndNoOther) {
    FakeVerbs verbs({own_device()});
    verbs.leak(GetParam().leak);
    const Tried trials = try_it(verbs);
    ASSERT_FALSE(trials.error) << trials.error->message();
    EXPECT_THAT(with(trials, IsolationVerdict::Fail), UnorderedElementsAreArray(GetParam().failed))
        << text_of(trials);
    for (const Trial& trial : trials.done) {
        if (trial.outcome.verdict == IsolationVerdict::Fail) {
            EXPECT_NE(trial.outcome.fix, "");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    IsolationLeak,
    testing::Values(
        LeakCase{Leak::WrongKey, {"wrong_key", "next_key", "previous_key", "stale_key"}},
        LeakCase{Leak::StaleKey, {"stale_key"}},
        LeakCase{Leak::Range, {"before_range", "behind_range"}},
        LeakCase{Leak::Direction, {"read_only"}},
        LeakCase{Leak::Domain, {"other_domain"}},
        LeakCase{Leak::SilentWrite, {"read_only", "other_domain"}},
        LeakCase{Leak::QueueKey, {"queue_key"}},
        LeakCase{Leak::RawPackets, {"raw_packets"}},
        LeakCase{Leak::MemoryLimit, {"memory_limit"}},
        // Its neighbours are doors that are shut: an open one beside it would be no leak.
        LeakCase{Leak::KeysInOrder, {}}));

// Nothing moved, but the refusal has another name.
TEST_F(Isolation, ARefusalByAnotherNameIsAFinding) {
    FakeVerbs verbs({own_device()});
    verbs.refuse_access_as(IBV_WC_REM_OP_ERR);
    const Tried trials = try_it(verbs);
    ASSERT_FALSE(trials.error) << trials.error->message();
    EXPECT_EQ(with(trials, IsolationVerdict::Fail), Ids{}) << text_of(trials);
    EXPECT_EQ(of(trials, "wrong_key").verdict, IsolationVerdict::Finding);
    EXPECT_EQ(of(trials, "read_only").verdict, IsolationVerdict::Finding);
    EXPECT_THAT(of(trials, "wrong_key").observed, HasSubstr("memory unchanged"));
}

TEST_F(Isolation, KeysThatAreCountedUpAreAFinding) {
    FakeVerbs verbs({own_device()});
    verbs.leak(Leak::KeysInOrder);
    const Tried trials = try_it(verbs);
    EXPECT_EQ(with(trials, IsolationVerdict::Finding), Ids{"key_guessing"});
    EXPECT_THAT(of(trials, "key_guessing").observed, HasSubstr("at most 0.0 of 32 bits"));
}

TEST_F(Isolation, ForeignDeviceThatIsRefused) {
    auto foreign = foreign_device();
    foreign.open_error = EPERM;
    FakeVerbs verbs({own_device(), foreign});
    const Tried trials = try_it(verbs);
    EXPECT_EQ(of(trials, "foreign_devices").verdict, IsolationVerdict::Pass);
    EXPECT_THAT(of(trials, "foreign_devices").observed, HasSubstr("rxe1 ("));
    EXPECT_EQ(of(trials, "foreign_gids").observed, "0 foreign GIDs");
    EXPECT_FALSE(any_violation(trials.done));
}

TEST_F(Isolation, DeviceThatOnlySysfsShows) {
    root_.put("sys/class/infiniband/mlx5_7/node_type", "1: CA\n");
    FakeVerbs verbs({own_device()});
    const Tried trials = try_it(verbs);
    EXPECT_EQ(of(trials, "foreign_devices").verdict, IsolationVerdict::Pass);
    EXPECT_THAT(of(trials, "foreign_devices").observed, HasSubstr("mlx5_7"));
}

TEST_F(Isolation, ForeignDeviceThatOpens) {
    FakeVerbs verbs({own_device(), foreign_device()});
    const Tried trials = try_it(verbs);
    ASSERT_FALSE(trials.error) << trials.error->message();
    EXPECT_THAT(with(trials, IsolationVerdict::Fail),
                testing::ElementsAre("foreign_devices", "foreign_source"));
    EXPECT_EQ(of(trials, "foreign_gids").verdict, IsolationVerdict::Finding);
    EXPECT_THAT(of(trials, "foreign_gids").observed, HasSubstr("2 foreign GIDs: 192.0.2.77"));
}

TEST_F(Isolation, ForeignGidOfTheOwnDevice) {
    for (const bool guarded : {true, false}) {
        auto shared = own_device();
        shared.gids.push_back(test::gid_row(5, "192.0.2.77"));
        if (guarded)
            shared.guarded_gids = {5};
        FakeVerbs verbs({shared});
        const Tried trials = try_it(verbs);
        ASSERT_FALSE(trials.error) << trials.error->message();
        const Outcome& source = of(trials, "foreign_source");
        EXPECT_EQ(source.verdict, guarded ? IsolationVerdict::Pass : IsolationVerdict::Fail);
        EXPECT_THAT(source.observed, HasSubstr(guarded ? "No such device" : "192.0.2.77 (index 5"));
        EXPECT_EQ(of(trials, "foreign_gids").verdict, IsolationVerdict::Finding);
    }
}

TEST_F(Isolation, CapabilitiesMakeTwoChecksMeaningless) {
    root_.put("proc/self/status", "CapEff:\t000001ffffffffff\n");
    FakeVerbs verbs({own_device()});
    const Tried trials = try_it(verbs);
    EXPECT_THAT(with(trials, IsolationVerdict::NotApplicable),
                testing::ElementsAre("foreign_source", "raw_packets", "memory_limit"));
}

TEST_F(Isolation, ControlRunThatFailsIsNoViolation) {
    FakeVerbs verbs({own_device()});
    verbs.inject(test::Fault::BitFlip, 0);
    const Tried trials = try_it(verbs);
    ASSERT_TRUE(trials.error);
    EXPECT_EQ(trials.error->code, Code::Unsupported);
    EXPECT_THAT(trials.error->message(), HasSubstr("check wrong_key: control run before"));
    EXPECT_FALSE(any_violation(trials.done));
    EXPECT_EQ(trials.done.size(), 6U) << "what was seen before stays";
}

TEST_F(Isolation, SilenceEndsAtTheDeadline) {
    FakeVerbs verbs({own_device()});
    verbs.go_silent(0);
    const Tried trials = try_it(verbs, 300ms);
    ASSERT_TRUE(trials.error);
    EXPECT_EQ(trials.error->code, Code::Timeout);
}

TEST_F(Isolation, DatagramsThatNeverComeAreNoProof) {
    FakeVerbs verbs({own_device()});
    Pair pair(verbs, consenting(2s));
    {
        auto arena = enter(verbs, pair, 2s);
        ASSERT_TRUE(arena) << arena.error().message();
        verbs.inject(test::Fault::Lost, 0);
        const auto checks = kIsolationChecks;
        const auto check = std::ranges::find(checks, "queue_key", &IsolationCheck::id);
        ASSERT_NE(check, checks.end());
        const auto first = check->run(*arena);
        ASSERT_TRUE(first) << first.error().message();
        EXPECT_EQ(first->verdict, IsolationVerdict::Pass) << "another round makes up for a loss";
    }
    (void)pair.outcome();
}

// ---- how much of a key is unknown ---------------------------------------------------------------

TEST(UnknownBits, CountedUpIsNone) {
    std::vector<uint32_t> keys;
    for (uint32_t i = 0; i < 256; ++i)
        keys.push_back(0xffffff80U + 0x100 * i);
    EXPECT_EQ(unknown_bits(keys), 0);
    EXPECT_EQ(unknown_bits(std::vector<uint32_t>{7}), 0);
}

TEST(UnknownBits, RandomIsNearlyAll) {
    std::mt19937 random(1);
    std::vector<uint32_t> keys;
    for (int i = 0; i < 256; ++i)
        keys.push_back(static_cast<uint32_t>(random()));
    EXPECT_GT(unknown_bits(keys), 31.5);
    EXPECT_LE(unknown_bits(keys), 32);
}

TEST(UnknownBits, IndexOverARandomByteIsThatByteAndItsCarry) {
    std::mt19937 random(1);
    std::vector<uint32_t> keys;
    for (uint32_t i = 0; i < 256; ++i)
        keys.push_back((i + 2) << 8U | (static_cast<uint32_t>(random()) & 0xffU));
    EXPECT_GT(unknown_bits(keys), 8);
    EXPECT_LT(unknown_bits(keys), 9.01);
}

// ---- as a person runs it ------------------------------------------------------------------------

class IsolateCommand : public testing::Test {
  protected:
    IsolateCommand() { verbs_.heed_memory_limit(); }

    ~IsolateCommand() override {
        stop_.request();
        if (server_.joinable())
            server_.join();
        (void)std::fclose(out_);
    }

    // Empty if there is no such file yet.
    static std::string read(const std::string& file) {
        base::RealFiles files;
        auto text = files.read(file, 1U << 20U);
        return text ? std::move(text).value() : "";
    }

    void start_server(bool allow) {
        ServeOptions options;
        options.bind = {"127.0.0.1"};
        options.side.timeout = 2s;
        options.side.allow_isolation_tests = allow;
        server_ = std::jthread([this, options] {
            std::FILE* log = std::fopen((dir_ / "server").c_str(), "w");
            (void)serve(options, {verbs_, stop_, log, log});
            (void)std::fclose(log);
        });
        const auto deadline = base::Deadline::in(5s);
        std::string text;
        while (text.find('\n') == std::string::npos && !deadline.passed())
            text = read(dir_ / "server");
        look_.port = static_cast<uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
    }

    Exit try_it() {
        look_.peer = "127.0.0.1";
        look_.side.timeout = 2s;
        look_.json = dir_ / "answer.json";
        const Exit exit =
            run_command(SuiteCommand{&kIsolate, look_, kIsolate.run}, {verbs_, stop_, out_, out_});
        text_ = read(dir_ / "out");
        json_ = base::parse_json(read(look_.json), "answer").value();
        return exit;
    }

    test::TempDir dir_;
    FakeVerbs verbs_{{own_device()}};
    Stop stop_;
    LookOptions look_;
    std::FILE* out_ = std::fopen((dir_ / "out").c_str(), "w");
    std::string text_;
    Json json_;
    std::jthread server_;
};

TEST_F(IsolateCommand, SaysWhatWasExpectedAndSeen) {
    start_server(true);
    EXPECT_EQ(try_it(), Exit::Ok) << text_;
    EXPECT_THAT(text_, testing::StartsWith("client rxe0 ("));
    EXPECT_THAT(text_, HasSubstr("\nserver rxe0 ("));
    EXPECT_THAT(text_, HasSubstr("pass           wrong_key        write: remote access error"));
    EXPECT_EQ(json_["kind"], "isolate");
    EXPECT_THAT(test::schema_problems(json_), testing::IsEmpty());
    EXPECT_EQ(json_["violated"], false);
    ASSERT_EQ(json_["checks"].size(), kIsolationChecks.size());
    EXPECT_EQ(json_["checks"][6]["id"], "wrong_key");
    EXPECT_EQ(json_["checks"][6]["verdict"], "pass");
    EXPECT_TRUE(json_["errors"].empty());
}

TEST_F(IsolateCommand, AViolationIsExitSeven) {
    verbs_.leak(Leak::Domain);
    start_server(true);
    EXPECT_EQ(try_it(), Exit::Isolation);
    EXPECT_THAT(text_, HasSubstr("fail           other_domain"));
    EXPECT_THAT(text_, HasSubstr("expected: refused"));
    EXPECT_EQ(json_["violated"], true);
}

TEST_F(IsolateCommand, AServerThatDoesNotAgreeIsExitEight) {
    start_server(false);
    EXPECT_EQ(try_it(), Exit::Version);
    EXPECT_THAT(text_, HasSubstr("rdma-perf serve --allow-isolation-tests"));
    EXPECT_TRUE(json_["checks"].empty());
    EXPECT_EQ(json_["errors"].size(), 1U);
    EXPECT_EQ(json_["errors"][0]["code"], "bad_input");
}

TEST_F(IsolateCommand, AnEnvironmentThatFailsTheControlRunIsExitSix) {
    verbs_.inject(test::Fault::BitFlip, 0);
    start_server(true);
    EXPECT_EQ(try_it(), Exit::Environment);
    EXPECT_EQ(json_["errors"].size(), 1U);
}

}  // namespace
}  // namespace perf
