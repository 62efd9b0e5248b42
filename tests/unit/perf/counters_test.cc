// SPDX-License-Identifier: Apache-2.0
#include "perf/system/counters.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include "netns/base/json.h"
#include "tests/support/temp_dir.h"

namespace perf {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::IsEmpty;

// A /sys in which rxe0 lies over lo, the one interface that every namespace has.
class CountersTest : public testing::Test {
  protected:
    CountersTest() {
        put(kHw, "rcvd_seq_err", "3\n");
        put(kHw, "sent_pkts", "100\n");
        put(kNet, "ifindex", "1\n");
        put(std::string(kNet) + "/statistics", "rx_dropped", "0\n");
    }

    void put(const std::string& folder, const std::string& name, const std::string& text) {
        std::filesystem::create_directories(dir_ / folder);
        std::ofstream(dir_ / (folder + "/" + name)) << text;
    }

    Counters read(const std::string& netdev = "lo") {
        const auto counters =
            read_counters({.device = "rxe0", .port = 1, .netdev = netdev}, dir_.path());
        EXPECT_TRUE(counters) << counters.error().message();
        return counters ? *counters : Counters{};
    }

    static constexpr const char* kHw = "class/infiniband/rxe0/ports/1/hw_counters";
    static constexpr const char* kPort = "class/infiniband/rxe0/ports/1/counters";
    static constexpr const char* kNet = "class/net/lo";
    test::TempDir dir_;
};

TEST_F(CountersTest, ReadsAllFolders) {
    put(kPort, "port_rcv_errors", "18446744073709551615\n");
    EXPECT_EQ(read(),
              (Counters{{"hw_counters/rcvd_seq_err", 3},
                        {"hw_counters/sent_pkts", 100},
                        {"counters/port_rcv_errors", UINT64_MAX},
                        {"netdev/rx_dropped", 0}}));
}

TEST_F(CountersTest, WhatIsNoNumberIsLeftOut) {
    put(kPort, "a", "N/A (no PMA)\n");
    put(kPort, "b", "");
    put(kPort, "c", "-1\n");
    put(kPort, "d", "18446744073709551616\n");
    put(kPort, "e", "5 apples\n");
    put(kPort, "f", std::string(100'000, '1'));
    std::filesystem::create_directories(dir_ / (std::string(kPort) + "/folder"));
    std::filesystem::create_symlink("../hw_counters/sent_pkts",
                                    dir_ / (std::string(kPort) + "/link"));
    EXPECT_EQ(read(""),
              (Counters{{"hw_counters/rcvd_seq_err", 3}, {"hw_counters/sent_pkts", 100}}));
}

TEST_F(CountersTest, NothingThereIsNothing) {
    const auto counters = read_counters({.device = "mlx5_0", .port = 2, .netdev = ""}, dir_.path());
    ASSERT_TRUE(counters);
    EXPECT_THAT(*counters, IsEmpty());
}

TEST_F(CountersTest, NetdevOfAnotherNamespaceIsNotOurs) {
    put(kNet, "ifindex", "77\n");
    EXPECT_EQ(read().count("netdev/rx_dropped"), 0U);
    EXPECT_EQ(read("no-such-netdev").count("netdev/rx_dropped"), 0U);
}

// An mlx5 with a queue's statistics beside those of the port.
int mlx5_statistics(const std::string& netdev, void* command) {
    static constexpr std::pair<const char*, uint64_t> kAll[] = {
        {"rx_packets", 7}, {"rx_prio3_pause", 5}, {"rx0_csum_none", 6}, {"tx_global_pause", 0}};
    EXPECT_EQ(netdev, "lo");
    auto* const names = static_cast<ethtool_gstrings*>(command);
    auto* const values = static_cast<ethtool_stats*>(command);
    switch (names->cmd) {
        case ETHTOOL_GDRVINFO:
            static_cast<ethtool_drvinfo*>(command)->n_stats = std::size(kAll);
            return 0;
        case ETHTOOL_GSTRINGS:
            EXPECT_EQ(names->string_set, ETH_SS_STATS);
            for (size_t i = 0; i < std::size(kAll); ++i) {
                const std::string name = kAll[i].first;
                name.copy(reinterpret_cast<char*>(&names->data[i * ETH_GSTRING_LEN]), name.size());
            }
            return 0;
        case ETHTOOL_GSTATS:
            for (size_t i = 0; i < std::size(kAll); ++i)
                values->data[i] = kAll[i].second;
            return 0;
        default:
            return EOPNOTSUPP;
    }
}

TEST_F(CountersTest, PauseFramesAreOfEthtool) {
    const CounterSource source{.device = "rxe0", .port = 1, .netdev = "lo"};
    const auto counters = read_counters(source, dir_.path(), mlx5_statistics);
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->at("ethtool/rx_prio3_pause"), 5U);
    EXPECT_EQ(counters->at("ethtool/tx_global_pause"), 0U);
    EXPECT_EQ(counters->count("ethtool/rx_packets"), 0U) << "of hundreds only these";
    const auto refused =
        read_counters(source, dir_.path(), [](const std::string&, void*) { return EOPNOTSUPP; });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->count("ethtool/rx_prio3_pause"), 0U);
    put(kNet, "ifindex", "77\n");
    const auto foreign = read_counters(source, dir_.path(), [](const std::string&, void*) -> int {
        ADD_FAILURE();
        return 0;
    });
    EXPECT_TRUE(foreign) << "a netdev of another namespace is not asked";
}

TEST_F(CountersTest, NamesStayInTheirFolder) {
    for (const std::string& name : {std::string("../rxe0"),
                                    std::string("rxe0/ports/1"),
                                    std::string("/"),
                                    std::string("."),
                                    std::string(".."),
                                    std::string("rxe0\0x", 6)}) {
        EXPECT_FALSE(read_counters({.device = name, .netdev = ""}, dir_.path())) << name;
        EXPECT_FALSE(read_counters({.device = "rxe0", .netdev = name}, dir_.path())) << name;
    }
    EXPECT_FALSE(read_counters({.device = "", .netdev = ""}, dir_.path()));
}

TEST(Grown, OnlyWhatGrew) {
    const Counters before{{"a", 1}, {"b", 5}, {"reset", 9}, {"gone", 1}};
    const Counters after{{"a", 4}, {"b", 5}, {"reset", 2}, {"new", 7}};
    EXPECT_EQ(grown(before, after), (Counters{{"a", 3}}));
}

TEST(Trouble, IsNamed) {
    EXPECT_THAT(flags_of({{"hw_counters/sent_pkts", 5}, {"netdev/rx_bytes", 9}}), IsEmpty());
    EXPECT_THAT(flags_of({{"hw_counters/ack_deferred", 5}}), IsEmpty());
    EXPECT_THAT(flags_of({{"hw_counters/rcvd_seq_err", 1}, {"hw_counters/duplicate_request", 1}}),
                ElementsAre("retransmit"));
    EXPECT_THAT(flags_of({{"netdev/rx_dropped", 1}}), IsEmpty()) << "LLDP is no loss";
    EXPECT_THAT(flags_of({{"netdev/rx_missed_errors", 1}}), ElementsAre("loss"));
    for (const char* name : {"np_cnp_sent",
                             "rp_cnp_handled",
                             "np_ecn_marked_roce_packets",
                             "cnpHandled",
                             "rx_cnp_pkts"})
        EXPECT_THAT(flags_of({{std::string("hw_counters/") + name, 1}}), ElementsAre("congested"));
    for (const char* name : {"rx_prio3_pause",
                             "rx_global_pause",
                             "rx_pause_frames",
                             "rx_pfc_ena_frames_pri3",
                             "rx_priority_3_xoff.nic"})
        EXPECT_THAT(flags_of({{std::string("ethtool/") + name, 1}}), ElementsAre("congested"));
    EXPECT_THAT(flags_of({{"counters/port_xmit_wait", 1}, {"netdev/rx_errors", 1}}),
                ElementsAre("loss", "congested"));
    EXPECT_THAT(flags_of({{"netdev/tx_errors", 1}, {"hw_counters/packet_seq_err", 2}}),
                ElementsAre("retransmit", "loss"));
    for (const char* name : {"retry_exceeded_err",
                             "send_rnr_err",
                             "rcvd_rnr_err",
                             "completer_retry_err",
                             "retry_rnr_exceeded_err",
                             "out_of_sequence",
                             "local_ack_timeout_err",
                             "rnr_nak_retry_err"})
        EXPECT_THAT(flags_of({{std::string("hw_counters/") + name, 1}}), ElementsAre("retransmit"))
            << name;
}

TEST(CountersMessage, TravelsAndIsChecked) {
    const Counters counters{{"hw_counters/a", 1}, {"netdev/b", UINT64_MAX}};
    const auto back = parse_counters(counters);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, counters);
    for (const Json& bad : {Json(), Json(1), Json::array(), Json{{"a", -1}}, Json{{"a", "1"}}})
        EXPECT_FALSE(parse_counters(bad)) << bad.dump();
    Json many = Json::object();
    for (int i = 0; i < 1025; ++i)
        many["c" + std::to_string(i)] = i;
    EXPECT_FALSE(parse_counters(many));
    const auto strange = parse_counters({{"\x1b[2J", 1}});
    ASSERT_TRUE(strange);
    EXPECT_EQ(strange->begin()->first.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace perf
