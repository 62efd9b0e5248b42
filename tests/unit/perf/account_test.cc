// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/measure/result.h"

namespace perf {
namespace {

using base::Json;
using testing::ElementsAre;

Usage usage(double busy, double window = 1) {
    return {.cpu = CpuUse{.window_s = window, .machine_busy_s = busy}, .counters = {}};
}

DeviceInfo device(const std::string& name) {
    DeviceInfo info;
    info.device = name;
    return info;
}

TEST(Usage, TravelsInStopped) {
    Usage mine = usage(0.25);
    mine.counters = {{"hw_counters/sent_pkts", 7}};
    Json frame = message("stopped", to_json(mine));
    const auto back = parse_usage(frame);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(to_json(*back), to_json(mine));
    frame["cpu"].erase("window_s");
    EXPECT_FALSE(parse_usage(frame));
    frame = message("stopped", to_json(mine));
    frame["counters"] = Json::array();
    EXPECT_FALSE(parse_usage(frame));
}

TEST(Usage, OlderServersDoNotTell) {
    const auto none = parse_usage(message("stopped", {{"messages", 5}}));
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->cpu);
    EXPECT_TRUE(none->counters.empty());
}

TEST(PointUsage, FlagsOfEitherSide) {
    PointUsage both;
    EXPECT_TRUE(flags_of(both, LimitShare{99.9, 1}).empty());
    both.server.counters = {{"hw_counters/out_of_seq_request", 1}};
    EXPECT_THAT(flags_of(both, std::nullopt), ElementsAre("retransmit"));
    EXPECT_THAT(flags_of(both, LimitShare{100.9, 1}), ElementsAre("retransmit"));
    EXPECT_THAT(flags_of(both, LimitShare{101.1, 1}), ElementsAre("retransmit", "limit_exceeded"));
}

TEST(PointUsage, JsonHasBothSides) {
    PointUsage both{.client = usage(0.5), .server = {}, .payload_bytes = 10};
    both.client.counters = {{"netdev/rx_missed_errors", 2}};
    Json out = Json::object();
    describe(out, both, std::nullopt);
    EXPECT_EQ(out["cpu"]["client"]["machine_busy_s"], 0.5);
    EXPECT_TRUE(out["cpu"]["server"].is_null());
    EXPECT_EQ(out["counters"]["client"]["netdev/rx_missed_errors"], 2);
    EXPECT_TRUE(out["counters"]["server"].empty());
    EXPECT_EQ(out["flags"], Json::array({"loss"}));
}

TEST(PointUsage, Remarks) {
    PointUsage both{.client = usage(0.5), .server = usage(1), .payload_bytes = 2'000'000'000};
    EXPECT_EQ(remarks(both, std::nullopt), "  cpu 0.50/1.00");
    EXPECT_EQ(remarks(both, LimitShare{150, 1}),
              "  150.0 % of limit  cpu 0.50/1.00  [limit_exceeded]");
    both.server = usage(1, 0.05);
    EXPECT_EQ(remarks(both, std::nullopt), "");
    EXPECT_EQ(remarks({}, std::nullopt), "");
}

TEST(Account, WindowAfterWindow) {
    Account account;
    account.end_idle();  // never begun
    account.begin_idle();
    account.end_idle();
    for (int i = 0; i < 2; ++i) {
        account.begin(device("no-such-device"));
        const Usage usage = account.end();
        ASSERT_TRUE(usage.cpu);
        EXPECT_GE(usage.cpu->window_s, 0);
        EXPECT_TRUE(usage.counters.empty());
    }
    EXPECT_FALSE(account.end().cpu) << "no window is open";
}

TEST(Account, HostileDeviceNamesAreNotRead) {
    Account account;
    account.begin(device("../../net"));
    EXPECT_TRUE(account.end().counters.empty());
}

}  // namespace
}  // namespace perf
