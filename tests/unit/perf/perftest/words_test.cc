// SPDX-License-Identifier: Apache-2.0
// What goes to programs of perftest, and what comes from them.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/suites/perftest/message.h"
#include "perf/suites/perftest/output.h"

namespace perf::perftest {
namespace {

using base::Code;
using base::Json;
using testing::HasSubstr;

constexpr Settings kSettings = {
    .mtu = 4096, .depth = 128, .batch = 16, .inline_bytes = 64, .reads = 16, .immediate = true};

Trial trial(Verb verb, Mode mode, uint32_t size = 64) {
    const bool timed = mode == Mode::Bandwidth;
    return {.verb = verb,
            .mode = mode,
            .size = size,
            .seconds = timed ? 1U : 0U,
            .iterations = timed ? 0U : 1000U,
            .settings = kSettings};
}

std::string words_for(const Trial& wanted, Side side = Side::Client) {
    const End end{.side = side,
                  .device = "rxe0",
                  .device_port = 1,
                  .gid_index = 3,
                  .server = parse_address("10.9.0.1").value(),
                  .port = 18700};
    return fmt::format("{}", fmt::join(arguments_of(wanted, end), " "));
}

// ---- arguments ----------------------------------------------------------------------------------

TEST(PerftestArguments, OfEachVerbAndMode) {
    const std::string head = "-F -d rxe0 -i 1 -x 3 -p 18700 -s 64 ";
    const auto words = [](Verb verb, Mode mode) { return words_for(trial(verb, mode)); };
    EXPECT_EQ(words(Verb::Write, Mode::Bandwidth),
              head + "-D 1 -m 4096 -t 128 -Q 16 -l 16 -I 64 10.9.0.1");
    EXPECT_EQ(words(Verb::Read, Mode::Bandwidth),
              head + "-D 1 -m 4096 -t 128 -Q 16 -l 16 -o 16 10.9.0.1");
    EXPECT_EQ(words(Verb::Send, Mode::Bandwidth),
              head + "-D 1 -m 4096 -t 128 -Q 16 -l 16 -r 512 -I 64 10.9.0.1");
    EXPECT_EQ(words(Verb::Write, Mode::Latency),
              head + "-n 1000 -m 4096 -I 64 --write_with_imm 10.9.0.1");
    EXPECT_EQ(words(Verb::Read, Mode::Latency), head + "-n 1000 -m 4096 -o 16 10.9.0.1");
    EXPECT_EQ(words(Verb::Send, Mode::Latency), head + "-n 1000 -m 4096 -I 64 10.9.0.1");
    EXPECT_EQ(program_of(Verb::Write, Mode::Bandwidth), "ib_write_bw");
    EXPECT_EQ(program_of(Verb::Read, Mode::Latency), "ib_read_lat");
    EXPECT_EQ(program_of(Verb::Send, Mode::Bandwidth), "ib_send_bw");
}

TEST(PerftestArguments, TheServerListensAtItsOwnAddressOnly) {
    const Trial wanted = trial(Verb::Write, Mode::Latency);
    EXPECT_THAT(words_for(wanted, Side::Server),
                HasSubstr("--write_with_imm --bind_source_ip 10.9.0.1"));
    End end{.side = Side::Server,
            .device = "mlx5_0",
            .device_port = 2,
            .gid_index = std::nullopt,
            .server = parse_address("fd00::1").value(),
            .port = 18701,
            .can_bind = false};
    const auto words = arguments_of(wanted, end);
    EXPECT_EQ(words.back(), "--ipv6-addr") << "an old perftest listens everywhere";
    EXPECT_THAT(words, testing::Not(testing::Contains("-x"))) << "InfiniBand has no GID to choose";
    end.side = Side::Client;
    EXPECT_EQ(arguments_of(wanted, end).back(), "fd00::1");
}

TEST(PerftestArguments, DefaultsLeaveItAlone) {
    Trial wanted = trial(Verb::Send, Mode::Bandwidth, 65536);
    wanted.settings.reset();
    EXPECT_EQ(words_for(wanted), "-F -d rxe0 -i 1 -x 3 -p 18700 -s 65536 -D 1 10.9.0.1");
}

TEST(PerftestArguments, OneByOneHasNoList) {
    Trial wanted = trial(Verb::Write, Mode::Bandwidth, 1U << 20U);
    wanted.settings->depth = 4;
    wanted.settings->batch = 1;
    wanted.settings->inline_bytes = 0;
    EXPECT_THAT(words_for(wanted), HasSubstr("-t 4 -Q 1 -I 0 "));
}

// ---- messages -----------------------------------------------------------------------------------

TEST(PerftestMessages, TrialGoesThereAndBack) {
    for (const Verb verb : {Verb::Write, Verb::Read, Verb::Send}) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            Trial wanted = trial(verb, mode, 4096);
            const auto read = parse_trial(to_json(wanted));
            ASSERT_TRUE(read) << read.error().message();
            EXPECT_EQ(to_json(*read), to_json(wanted));
            wanted.settings.reset();
            EXPECT_EQ(to_json(parse_trial(to_json(wanted)).value()), to_json(wanted));
        }
    }
}

TEST(PerftestMessages, AServerTakesNoValueOutsideOfTheLimits) {
    const auto refused = [](auto change) {
        Json json = to_json(trial(Verb::Write, Mode::Bandwidth));
        change(json);
        return !parse_trial(json);
    };
    EXPECT_FALSE(refused([](Json&) {}));
    EXPECT_TRUE(refused([](Json& j) { j["verb"] = "fetch_add"; }));
    EXPECT_TRUE(refused([](Json& j) { j["verb"] = "write; reboot"; }));
    EXPECT_TRUE(refused([](Json& j) { j["mode"] = "--all"; }));
    EXPECT_TRUE(refused([](Json& j) { j["size_bytes"] = 0; }));
    EXPECT_TRUE(refused([](Json& j) { j["size_bytes"] = kMaxSize + 1; }));
    EXPECT_TRUE(refused([](Json& j) { j["seconds"] = 0; }));
    EXPECT_TRUE(refused([](Json& j) { j["seconds"] = kMaxSeconds + 1; }));
    EXPECT_TRUE(refused([](Json& j) { j["iterations"] = 1; })) << "by time, not both";
    EXPECT_TRUE(refused([](Json& j) { j["mode"] = "lat"; })) << "not by time";
    EXPECT_TRUE(refused([](Json& j) { j["settings"] = "-t 1"; }));
    EXPECT_TRUE(refused([](Json& j) { j["settings"]["mtu_bytes"] = 1500; }));
    EXPECT_TRUE(refused([](Json& j) { j["settings"]["depth"] = kMaxDepth + 1; }));
    EXPECT_TRUE(refused([](Json& j) { j["settings"]["batch"] = 0; }));
    EXPECT_TRUE(refused([](Json& j) { j["settings"]["batch"] = 5; })) << "does not divide 128";
    EXPECT_TRUE(refused([](Json& j) { j["settings"]["inline_bytes"] = kMaxInline + 1; }));
    EXPECT_TRUE(refused([](Json& j) { j["settings"]["reads"] = -1; }));
    EXPECT_TRUE(refused([](Json& j) { j["settings"].erase("immediate"); }));
}

TEST(PerftestMessages, AClientTakesNoPortOutsideOfTheRange) {
    EXPECT_EQ(parse_started({{"port", kLastPort}}).value(), kLastPort);
    EXPECT_FALSE(parse_started({{"port", kLastPort + 1}}));
    EXPECT_FALSE(parse_started({{"port", 22}}));
    EXPECT_FALSE(parse_started({{"port", "18700"}}));
}

TEST(PerftestMessages, TextOfTheServerIsMadeSafe) {
    const auto ended = parse_ended({{"status", 1}, {"last_line", "no\x1b[2Jdevice"}});
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->last_line, "no\\x1b[2Jdevice");
    EXPECT_FALSE(parse_ended({{"status", 300}, {"last_line", ""}}));
    EXPECT_EQ(parse_probed({{"version", "6.24"}, {"immediate", true}}).value().version, "6.24");
    EXPECT_FALSE(parse_probed({{"version", 6.24}, {"immediate", true}}));
}

// ---- output -------------------------------------------------------------------------------------

// What perftest 25.01 printed over SoftRoCE.
std::string printed(const std::string& name) {
    const std::ifstream file(SOURCE_DIR "/tests/data/perftest/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_NE(text.str(), "") << name;
    return text.str();
}

double result_of(const std::string& name, const Trial& wanted) {
    const auto result = parse_result(printed(name), wanted);
    EXPECT_TRUE(result) << result.error().message();
    return result ? *result : 0;
}

TEST(PerftestOutput, BandwidthByTheColumnThatSaysMore) {
    const auto bw = [](Verb verb, uint32_t size) { return trial(verb, Mode::Bandwidth, size); };
    EXPECT_DOUBLE_EQ(result_of("write_bw_dur", bw(Verb::Write, 65536)), 31.50 * 1048576);
    EXPECT_DOUBLE_EQ(result_of("send_bw_dur", bw(Verb::Send, 65536)), 25.88 * 1048576);
    EXPECT_DOUBLE_EQ(result_of("write_bw_iter", bw(Verb::Write, 64)), 8033.0 * 64);
    EXPECT_DOUBLE_EQ(result_of("read_bw_default", bw(Verb::Read, 64)), 8484.0 * 64);
}

TEST(PerftestOutput, LatencyIsTheMedian) {
    const auto lat = [](Verb verb) { return trial(verb, Mode::Latency); };
    EXPECT_DOUBLE_EQ(result_of("write_lat_iter", lat(Verb::Write)), 209'270);
    EXPECT_GT(result_of("read_lat_iter", lat(Verb::Read)), 0);
    EXPECT_GT(result_of("send_lat_iter", lat(Verb::Send)), 0);
}

TEST(PerftestOutput, OlderVersionsSayMbAndMeanMib) {
    const std::string text =
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        " 4096       1000             100.00             96.00              0.024576\n";
    EXPECT_DOUBLE_EQ(parse_result(text, trial(Verb::Write, Mode::Bandwidth, 4096)).value(),
                     24576.0 * 4096);
}

std::string refusal(const std::string& text, const Trial& wanted) {
    const auto result = parse_result(text, wanted);
    EXPECT_FALSE(result) << text;
    return result ? "" : result.error().message();
}

TEST(PerftestOutput, NothingThatIsNotKnown) {
    const Trial bw = trial(Verb::Write, Mode::Bandwidth);
    const Trial lat = trial(Verb::Write, Mode::Latency);
    const std::string good = printed("write_bw_iter");
    EXPECT_THAT(refusal(printed("write_lat_dur"), lat), HasSubstr("columns that are not known"));
    EXPECT_THAT(refusal(good, lat), HasSubstr("columns that are not known"));
    EXPECT_THAT(refusal(good + good, bw), HasSubstr("two tables"));
    EXPECT_THAT(refusal(printed("write_bw_dur"), bw), HasSubstr("'65536' bytes instead of 64"));
    EXPECT_THAT(refusal(std::string(kMaxOutput + 1, 'x'), bw), HasSubstr("more than"));
    for (const std::string text : {"", "\n\n", "Couldn't connect\n", " 64 1000 1 1 1\n"})
        EXPECT_THAT(refusal(text, bw), HasSubstr("no result"));
}

TEST(PerftestOutput, NoNumberThatIsNone) {
    const std::string head =
        "#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]\n";
    const Trial bw = trial(Verb::Write, Mode::Bandwidth);
    EXPECT_THAT(refusal(head, bw), HasSubstr("no result"));
    EXPECT_THAT(refusal(head + "64 1000 1.00\n", bw), HasSubstr("too few columns"));
    EXPECT_THAT(refusal(head + "64 1000 1.00 0.00 0.000000\n", bw), HasSubstr("zero"));
    EXPECT_THAT(refusal(head + "64 1000 1.00 1.00 9.000000\n", bw), HasSubstr("contradict"));
    for (const char* number : {"infinity", "-1", "1e300", "0x10", "1,5", "\x1b[2J"}) {
        EXPECT_THAT(refusal(head + "64 1000 1.00 " + number + " 0.016384\n", bw),
                    HasSubstr("where a number belongs"));
    }
    EXPECT_THAT(refusal(head + "64 1000 1.00 \x1b[2J 0.016384\n", bw), HasSubstr("\\x1b[2J"));
    for (const char* number : {"inf", "nan", "-nan"}) {
        const auto result = parse_result(head + "64 1000 1.00 " + number + " 0.016384\n", bw);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, Code::Unavailable) << "of that run alone";
    }
}

TEST(PerftestOutput, VersionAndLastLine) {
    EXPECT_EQ(parse_version("Version: 6.24\n").value(), "6.24");
    for (const char* text : {"", "Version:\n", "Version: six\n", "bash: no such file\n"})
        EXPECT_FALSE(parse_version(text));
    EXPECT_FALSE(parse_version("Version: " + std::string(100, '1')));
    EXPECT_EQ(last_line("Couldn't listen\n Unable to   init \n\n"), "Unable to init");
    EXPECT_EQ(last_line(""), "");
    EXPECT_EQ(last_line("a\x07z"), "a\\x07z");
    EXPECT_LE(last_line(std::string(5000, 'y')).size(), 210U);
}

}  // namespace
}  // namespace perf::perftest
