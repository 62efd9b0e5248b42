// SPDX-License-Identifier: Apache-2.0
// rdmactl stats --prometheus, read by the grammar of the text format 0.0.4.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/support/regex.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using base::Json;
using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

// Reads labels: `NAME="VALUE"`, separated by commas, each name once.
std::map<std::string, std::string> read_labels(std::string text) {
    static constexpr char kLabel[] =
        R"re(^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$))re";
    std::map<std::string, std::string> labels;
    for (auto found = find_match(text, kLabel); !found.empty(); found = find_match(text, kLabel)) {
        EXPECT_TRUE(labels.emplace(found[1], found[2]).second) << found[1];
        const bool more = found[3] == ",";
        text = text.substr(found[0].size());
        EXPECT_EQ(more, !text.empty());
    }
    EXPECT_EQ(text, "");
    return labels;
}

struct Sample {
    std::string metric;
    std::map<std::string, std::string> labels;
    uint64_t value = 0;
};

// Fails on all that the format forbids: a sample before its HELP and TYPE, a metric in two places,
// a series twice.
std::vector<Sample> read_text(const std::string& text) {
    static constexpr char kHelp[] = "# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\\\\]*)";
    static constexpr char kType[] = "# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)";
    static constexpr char kSample[] = R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9]+))";
    EXPECT_TRUE(text.ends_with('\n'));
    std::vector<Sample> samples;
    std::set<std::string> metrics;
    std::set<std::string> series;
    std::string metric;
    std::string type;
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (const auto help = match_text(line, kHelp); !help.empty()) {
            metric = help[1];
            type.clear();
            EXPECT_TRUE(metrics.insert(metric).second) << line;
        } else if (const auto kind = match_text(line, kType); !kind.empty()) {
            EXPECT_EQ(kind[1], metric);
            EXPECT_EQ(type, "") << line;
            type = kind[2];
        } else if (const auto found = match_text(line, kSample); !found.empty()) {
            EXPECT_EQ(found[1], metric);
            EXPECT_NE(type, "") << line;
            EXPECT_EQ(type == "counter", metric.ends_with("_total")) << line;
            EXPECT_TRUE(series.insert(metric + "{" + found[2]).second) << line;
            samples.push_back({metric, read_labels(found[2]), std::stoull(found[3])});
        } else {
            ADD_FAILURE() << line;
        }
    }
    return samples;
}

std::vector<Sample> of_metric(const std::vector<Sample>& samples, const std::string& metric) {
    std::vector<Sample> found;
    for (const Sample& each : samples) {
        if (each.metric == metric)
            found.push_back(each);
    }
    return found;
}

class Prometheus : public Containers {
  protected:
    Prometheus() {
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        options_.prometheus = true;
    }

    hook::ctl::Answer ask() {
        netns::Host host = fake_.host();
        auto answer = hook::ctl::stats(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? *answer : hook::ctl::Answer{};
    }

    hook::ctl::Options options_;
};

TEST_F(Prometheus, CountersHaveTheirContainersLabels) {
    Life one = container("one", {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
    ASSERT_TRUE(one.start());
    FakeRdma& rdma = fake_.world.rdma.begin()->second;
    rdma.counters = {{"sent_pkts", 7}};
    fake_.world.find_link(rdma.netdev_ns, rdma.netdev)->counters = {
        {"rx_bytes", 18446744073709551615ULL}};
    const auto samples = read_text(ask().text);
    const auto sent = of_metric(samples, "rdma_hook_device_sent_pkts_total");
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].value, 7U);
    EXPECT_EQ(sent[0].labels,
              (std::map<std::string, std::string>{{"container", one.id()},
                                                  {"device", one.environment("RDMA_DEVICE")},
                                                  {"mode", "softroce"},
                                                  {"port", "1"},
                                                  {"shared", "false"}}));
    const auto bytes = of_metric(samples, "rdma_hook_netdev_rx_bytes_total");
    ASSERT_EQ(bytes.size(), 1U);
    EXPECT_EQ(bytes[0].value, 18446744073709551615ULL);
    EXPECT_THAT(bytes[0].labels, Contains(Pair("netdev", "rdma0")));
    EXPECT_EQ(of_metric(samples, "rdma_hook_containers")[0].value, 1U);
    EXPECT_EQ(of_metric(samples, "rdma_hook_unread_attachments")[0].value, 0U);
}

TEST_F(Prometheus, ADeviceOfTheHostIsSharedByItsContainers) {
    fake_.world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    fake_.world.rdma.begin()->second.counters = {{"sent_pkts", 7}};
    std::vector<Life> both;
    for (const char* id : {"one", "two"}) {
        both.push_back(container(id, {{"rdma.mode", "host"}, {"rdma.device", "mlx5_0"}}));
        ASSERT_TRUE(both.back().start());
    }
    const auto sent = of_metric(read_text(ask().text), "rdma_hook_device_sent_pkts_total");
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_NE(sent[0].labels.at("container"), sent[1].labels.at("container"));
    for (const Sample& each : sent) {
        EXPECT_THAT(each.labels, Contains(Pair("device", "mlx5_0")));
        EXPECT_THAT(each.labels, Contains(Pair("mode", "host")));
        EXPECT_THAT(each.labels, Contains(Pair("shared", "true")));
    }
}

TEST_F(Prometheus, AHostWithoutContainersSaysSo) {
    const auto samples = read_text(ask().text);
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[0].value + samples[1].value, 0U);
}

// Two rails on one HCA: its counters would be one series twice.
TEST(PrometheusText, ADeviceIsToldOnceAContainer) {
    const Json attachment = json_of(R"({"request":{"mode":"shared"},"device":"mlx5_0",
        "shared":true,"device_counters":{"port_rcv_data":5},"netdev":"rdma0",
        "netdev_counters":{"rx_bytes":1}})");
    Json second = attachment;
    second["netdev"] = "rdma1";
    Json stats = json_of(R"({"containers":[{"id":"a","name":"web"},{"id":"b","name":""}]})");
    stats["containers"][0]["attachments"] = Json::array({attachment, second});
    stats["containers"][1]["attachments"] = Json::array({attachment});
    const auto samples = read_text(hook::ctl::prometheus_text(stats));
    const auto device = of_metric(samples, "rdma_hook_device_port_rcv_data_total");
    ASSERT_EQ(device.size(), 2U);
    EXPECT_THAT(device[0].labels, Contains(Pair("name", "web")));
    EXPECT_THAT(device[0].labels, Contains(Pair("shared", "true")));
    EXPECT_THAT(device[1].labels, Not(Contains(Key("name"))));
    EXPECT_EQ(of_metric(samples, "rdma_hook_netdev_rx_bytes_total").size(), 3U);
}

TEST(PrometheusText, NamesOfStrangersBreakNoLine) {
    const Json stats = json_of(R"({"containers":[{"id":"a\"}\n# \\","attachments":[
        {"request":{"mode":"vf"},"device":"m\u00fc","netdev":"x y","shared":false,
        "device_counters":{"rx-0.b/s \"":3},"netdev_counters":{"\n":1}},
        {"attachment":"k","error":"it is gone"}]}]})");
    const auto samples = read_text(hook::ctl::prometheus_text(stats));
    const auto device = of_metric(samples, "rdma_hook_device_rx_0_b_s___total");
    ASSERT_EQ(device.size(), 1U);
    EXPECT_THAT(device[0].labels, Contains(Pair("container", R"(a\"}\\x0a# \\)")));
    EXPECT_THAT(device[0].labels, Contains(Pair("device", R"(m\\xc3\\xbc)")));
    EXPECT_EQ(of_metric(samples, "rdma_hook_unread_attachments")[0].value, 1U);
}

TEST_F(Prometheus, AFileIsReplacedInOneStep) {
    const TempDir dir;
    options_.output = dir / "rdma-hook.prom";
    std::ofstream(options_.output) << "old";
    const auto answer = ask();
    EXPECT_EQ(answer.text, "");
    std::stringstream text;
    text << std::ifstream(options_.output).rdbuf();
    EXPECT_EQ(read_text(text.str()).size(), 2U);
    const auto mode = std::filesystem::status(options_.output).permissions();
    EXPECT_EQ(static_cast<unsigned>(mode), 0644U) << "node_exporter is another user";

    fake_.gate.fail_from(0, ENOSPC, {"write "});
    netns::Host host = fake_.host();
    EXPECT_FALSE(hook::ctl::stats(options_, host));
    std::stringstream still;
    still << std::ifstream(options_.output).rdbuf();
    EXPECT_EQ(still.str(), text.str());
}

}  // namespace
}  // namespace test
