// SPDX-License-Identifier: Apache-2.0
#include "perf/system/cpu.h"

#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "netns/base/json.h"
#include "tests/support/temp_dir.h"

namespace perf {
namespace {

using base::Json;

constexpr const char* kStat =
    "cpu  100 2 30 4000 5 6 70 8 9 10\n"
    "cpu0 50 1 15 2000 2 3 35 4 0 0\n"
    "intr 1 2 3\n";

TEST(ProcStat, FirstLineByState) {
    const auto ticks = parse_proc_stat(kStat);
    ASSERT_TRUE(ticks) << ticks.error().message();
    EXPECT_EQ(*ticks, (MachineTicks{100, 2, 30, 4000, 5, 6, 70, 8}));
    EXPECT_TRUE(parse_proc_stat("cpu 1 2 3 4 5 6 7 8"));
    EXPECT_TRUE(parse_proc_stat("cpu  1 2 3 4 5 6 7 8 something new"));
}

TEST(ProcStat, HostileText) {
    for (const std::string& text : {std::string(),
                                    std::string("\n"),
                                    std::string("cpu"),
                                    std::string("cpu "),
                                    std::string("cpu0 1 2 3 4 5 6 7 8\n"),
                                    std::string(" cpu 1 2 3 4 5 6 7 8\n"),
                                    std::string("cpu 1 2 3 4 5 6 7\n8 9\n"),
                                    std::string("cpu 1 2 3 -4 5 6 7 8\n"),
                                    std::string("cpu 1 2 3 4.5 5 6 7 8\n"),
                                    std::string("cpu 1 2 3 0x4 5 6 7 8\n"),
                                    std::string("cpu 1\t2\t3\t4\t5\t6\t7\t8\n"),
                                    std::string("cpu 18446744073709551616 2 3 4 5 6 7 8\n"),
                                    std::string("cpu 1 2 3 \0 5 6 7 8\n", 21),
                                    std::string(1U << 20U, ' '),
                                    "cpu " + std::string(1U << 20U, '9')})
        EXPECT_FALSE(parse_proc_stat(text)) << text.substr(0, 40);
}

CpuSample sample(double at, const MachineTicks& machine, double user = 0, double system = 0) {
    return {.at_s = at, .own_user_s = user, .own_system_s = system, .machine = machine};
}

TEST(CpuUse, IsTheDifference) {
    const auto begin = sample(10, {1000, 0, 100, 0, 0, 0, 10});
    const auto end = sample(12, {1100, 10, 150, 500, 0, 5, 60, 20}, 0.9, 0.3);
    const CpuUse use = cpu_use(begin, end, std::nullopt);
    EXPECT_DOUBLE_EQ(use.window_s, 2);
    EXPECT_DOUBLE_EQ(use.own_user_s, 0.9);
    EXPECT_DOUBLE_EQ(use.own_system_s, 0.3);
    EXPECT_DOUBLE_EQ(use.machine_busy_s, 2.15);
    EXPECT_DOUBLE_EQ(use.softirq_s, 0.5);
    EXPECT_DOUBLE_EQ(use.kernel_work_elsewhere_s, 0.5 + 0.05 + 0.5 - 0.3);
    EXPECT_DOUBLE_EQ(use.steal_s, 0.2);
    EXPECT_DOUBLE_EQ(use.idle_busy_s, 0);
}

TEST(CpuUse, IdleLoadIsTakenOff) {
    // In half a second 0.2 s busy, 0.1 s of it ours: 0.2 cores; in the kernel 0.12 s, 0.02 s ours.
    const auto idle = idle_load(sample(0, {}), sample(0.5, {8, 0, 8, 0, 0, 0, 4}, 0.08, 0.02));
    ASSERT_TRUE(idle);
    EXPECT_DOUBLE_EQ(idle->machine_busy_s, 0.2);
    EXPECT_DOUBLE_EQ(idle->kernel_work_elsewhere_s, 0.1);
    EXPECT_DOUBLE_EQ(idle->softirq_s, 0.04);
    const CpuUse use = cpu_use(sample(1, {}), sample(2, {50, 0, 30}, 0.4, 0), idle);
    EXPECT_DOUBLE_EQ(use.machine_busy_s, 0.6);
    EXPECT_DOUBLE_EQ(use.idle_busy_s, 0.2);
    EXPECT_DOUBLE_EQ(use.kernel_work_elsewhere_s, 0.1);
    EXPECT_DOUBLE_EQ(use.softirq_s, 0);
}

TEST(CpuUse, NothingIsNegative) {
    const CpuUse idle{
        .window_s = 1, .machine_busy_s = 100, .softirq_s = 100, .kernel_work_elsewhere_s = 100};
    const CpuUse use = cpu_use(sample(5, {9, 0, 9, 0, 0, 0, 9, 9}, 1, 1), sample(4, {1}), idle);
    const Json json = to_json(use);
    for (const auto& [name, value] : json.items())
        EXPECT_GE(value.get<double>(), 0) << name;
    EXPECT_EQ(cpu_use(sample(1, {}), sample(2, {1}), idle).machine_busy_s, 0);
}

TEST(CpuUse, AShortIdleWindowSaysNothing) {
    EXPECT_FALSE(idle_load(sample(0, {}), sample(0.04, {4})));
    EXPECT_FALSE(idle_load(sample(1, {}), sample(0, {})));
}

TEST(CpuUse, TravelsAndIsChecked) {
    const Json good = to_json(cpu_use(sample(1, {}), sample(2, {50}, 0.3, 0.1), {}));
    ASSERT_TRUE(parse_cpu_use(good));
    EXPECT_EQ(to_json(*parse_cpu_use(good)), good);
    for (const auto& [name, value] : good.items()) {
        Json changed = good;
        changed.erase(name);
        EXPECT_FALSE(parse_cpu_use(changed)) << name << " missing";
        for (const Json& bad :
             {Json(), Json(-0.5), Json(1e300), Json("1"), Json(std::nan("")), Json::array()}) {
            changed[name] = bad;
            EXPECT_FALSE(parse_cpu_use(changed)) << name << " = " << bad.dump();
        }
    }
    EXPECT_FALSE(parse_cpu_use(Json::array()));
    EXPECT_FALSE(parse_cpu_use(Json(7)));
}

TEST(CpuSample, ReadsTheMachineAndOurselves) {
    const auto begin = sample_cpu();
    ASSERT_TRUE(begin);
    EXPECT_GT(begin->machine[kUser] + begin->machine[kSystem] + begin->machine[kIdle], 0U);
    EXPECT_GT(begin->tick_s, 0);
    const auto end = sample_cpu();
    EXPECT_GE(end->at_s, begin->at_s);
}

TEST(CpuSample, NoProcIsNoError) {
    const test::TempDir dir;
    EXPECT_FALSE(sample_cpu(dir.path()));
    std::ofstream(dir / "stat") << "nonsense";
    EXPECT_FALSE(sample_cpu(dir.path()));
    std::ofstream(dir / "stat") << kStat;
    ASSERT_TRUE(sample_cpu(dir.path()));
    EXPECT_EQ(sample_cpu(dir.path())->machine[kSoftirq], 70U);
}

TEST(Processors, AreParsedFromAList) {
    const auto listed = [](std::string_view text) {
        std::vector<int> out;
        const auto set = parse_processors(text);
        for (int i = 0; set && i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(static_cast<size_t>(i), &*set))
                out.push_back(i);
        }
        return out;
    };
    EXPECT_EQ(listed("0-2,8"), (std::vector{0, 1, 2, 8}));
    EXPECT_EQ(listed("1023-18446744073709551615"), std::vector{1023});
    for (const char* bad : {"", "-1", "1-", "2-1", "0,", "0-1-2", "all", "0 1"})
        EXPECT_FALSE(parse_processors(bad)) << bad;
}

// The first of the processors that this test may run on.
std::optional<cpu_set_t> first_processor() {
    const auto own = own_processors();
    cpu_set_t first;
    CPU_ZERO(&first);
    for (size_t i = 0; own && i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &*own)) {
            CPU_SET(i, &first);
            return first;
        }
    }
    return std::nullopt;
}

int count(const std::optional<cpu_set_t>& set) {
    return set ? CPU_COUNT(&*set) : 0;
}

bool equal(const std::optional<cpu_set_t>& a, const std::optional<cpu_set_t>& b) {
    return a && b && CPU_EQUAL(&*a, &*b);
}

TEST(Processors, AThreadStaysOnThemAndSoDoThoseThatItStarts) {
    const auto before = own_processors();
    const auto first = first_processor();
    ASSERT_TRUE(before && first);
    int inherited = 0;
    {
        const auto here = stay_on(first);
        EXPECT_EQ(count(own_processors()), 1);
        std::jthread([&] { inherited = count(own_processors()); });
    }
    EXPECT_EQ(inherited, 1);
    EXPECT_TRUE(equal(own_processors(), before));
    {
        const auto anywhere = stay_on(std::nullopt);
        EXPECT_TRUE(equal(own_processors(), before));
    }
}

}  // namespace
}  // namespace perf
