// SPDX-License-Identifier: Apache-2.0
// rdmactl suggest over each adapter of tests/fakes/adapters.cc: what it suggests attaches, and of
// each other mode it says why not.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/unit/hook/adapter_cases.h"

namespace test {
namespace {
using testing::HasSubstr;
using testing::Not;

class SuggestHost {
  public:
    explicit SuggestHost(World world) : fake(std::move(world)) {
        options.load_config = [this]() -> base::Result<hook::Config> { return state.config(); };
        options.host_root = dir_ / "host";
        options.rdma_class = dir_ / "class";
        put("/proc/sys/kernel/osrelease", "7.3.4\n");
        for (const char* module : {"ib_uverbs", "rdma_ucm", "rdma_rxe", "siw", "macvlan"})
            put(std::string("/sys/module/") + module + "/refcnt", "0\n");
        std::filesystem::create_directories(options.rdma_class);
        for (const auto& [index, device] : fake.world.rdma)
            std::filesystem::create_directories(options.rdma_class + "/" + device.device.name);
    }

    void put(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = options.host_root + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    hook::ctl::Answer ask() {
        netns::Host host = fake.host();
        const auto answer = hook::ctl::suggest(options, host);
        EXPECT_TRUE(answer) << answer.error().message();
        fake.settle();
        return answer ? *answer : hook::ctl::Answer{};
    }

    // What it suggests for a mode; null: nothing.
    base::Json of(const std::string& mode) {
        const auto answer = ask();
        for (const base::Json& each : answer.json["suggestions"]) {
            if (each["mode"] == mode)
                return each;
        }
        return {};
    }

  private:
    TempDir dir_;

  public:
    FakeHost fake;
    StateDir state;
    hook::ctl::Options options;
};

class Suggest : public testing::TestWithParam<Case> {};

TEST_P(Suggest, AttachesAsSuggestedOrSaysWhyNot) {
    const Case& each = GetParam();
    SuggestHost host(world_of(each));
    add_pool(each, host.state);
    const World before = host.fake.world;
    const auto answer = host.ask();
    EXPECT_EQ(host.fake.world, before) << difference(before, host.fake.world);
    EXPECT_EQ(host.state.leftovers(), std::vector<std::string>{});
    std::set<std::string> modes;
    for (const base::Json& suggestion : answer.json["suggestions"]) {
        modes.insert(suggestion["mode"]);
        SuggestHost fresh(before);
        add_pool(each, fresh.state);
        Life life{fresh.fake, fresh.state, "one"};
        for (const auto& [key, value] : suggestion["annotations"].items()) {
            life.annotations[key] = value;
            EXPECT_THAT(suggestion["docker"].get<std::string>(),
                        HasSubstr("--annotation " + key + "=" + value.get<std::string>()));
        }
        if (suggestion["docker"].get<std::string>().find("--network host") != std::string::npos)
            life.network = Life::kHostsNetwork;
        const auto attached = life.attach();
        EXPECT_TRUE(attached) << suggestion << "\n" << attached.error().message();
        EXPECT_TRUE(!attached || life.poststop());
    }
    for (const base::Json& impossible : answer.json["impossible"]) {
        modes.insert(impossible["mode"]);
        EXPECT_FALSE(impossible["why"].get<std::string>().empty()) << impossible;
    }
    const auto names = hook::mode_names();
    EXPECT_EQ(modes, std::set<std::string>(names.begin(), names.end())) << "a row for each mode";
    EXPECT_EQ(!host.of(each.mode).is_null(), each.says.empty()) << answer.text;
}

// A mode on an adapter is suggested exactly if a case attaches.
std::vector<Case> by_mode() {
    std::vector<Case> rows;
    for (const Case& each : cases()) {
        const auto same = std::ranges::find_if(rows, [&](const Case& row) {
            return row.nic == each.nic && row.mode == each.mode && row.rdma_mode == each.rdma_mode;
        });
        if (same == rows.end())
            rows.push_back(each);
        else if (each.says.empty())
            *same = each;
    }
    return rows;
}

INSTANTIATE_TEST_SUITE_P(All, Suggest, testing::ValuesIn(by_mode()), [](const auto& param) {
    return name_of(param.param);
});

TEST(CtlSuggest, PrintsWholeLines) {
    SuggestHost host(World::standard(KernelTraits::v7_3()));
    host.put("/usr/bin/dockerd", "");
    const auto answer = host.ask();
    EXPECT_THAT(answer.text,
                HasSubstr("softroce on eth0\n"
                          "  RoCE in software: needs no adapter, and is for tests\n"
                          "  docker run --runtime=rdma --annotation rdma.mode=softroce "
                          "--annotation rdma.ip=192.0.2.11/24 IMAGE\n"
                          "  podman run --annotation rdma.mode=softroce "
                          "--annotation rdma.ip=192.0.2.11/24 IMAGE\n"));
    EXPECT_THAT(answer.text, HasSubstr("not shared: the host has no HCA\n"));
    EXPECT_THAT(answer.text, HasSubstr("not vf: no adapter of this host has SR-IOV\n"));
    EXPECT_THAT(answer.text, HasSubstr("podman: Podman is not installed\n"));
    EXPECT_FALSE(answer.trouble);
    host.options.mode = "shared";
    const auto shared = host.ask();
    EXPECT_TRUE(shared.trouble);
    EXPECT_THAT(shared.text, Not(HasSubstr("softroce on")));
    host.options.mode = "sharde";
    netns::Host rooms = host.fake.host();
    EXPECT_EQ(hook::ctl::suggest(host.options, rooms).error().code, base::Code::Usage);
}

TEST(CtlSuggest, QuotesWhatAShellWouldRead) {
    World world = World::standard(KernelTraits::v7_3());
    world.add_sriov("a;b'c", "0000:01:00.0", 2, Nic::Mlx5);
    SuggestHost host(std::move(world));
    EXPECT_THAT(host.of("vf")["podman"].get<std::string>(),
                HasSubstr(R"( --annotation 'rdma.device=a;b'\''c' )"));
}

TEST(CtlSuggest, AsksForNoAddressThatAContainerHas) {
    SuggestHost host(World::standard(KernelTraits::v7_3()));
    Life life{host.fake, host.state, "one"};
    life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "192.0.2.11/24"}};
    ASSERT_TRUE(life.start());
    EXPECT_EQ(host.of("softroce")["annotations"]["rdma.ip"], "192.0.2.12/24");
}

TEST(CtlSuggest, PoolsComeFirst) {
    SuggestHost host(world_with(Nic::Mlx5, KernelTraits::v7_3()));
    const auto config = hook::parse_config(
        R"({"pools": {"fast": {"mode": "vf", "devices": ["enp1s0"], "range": "10.7.0.1-10.7.0.200/24"}}})");
    ASSERT_TRUE(config) << config.error().message();
    host.state.config().pools = config->pools;
    const auto vf = host.of("vf");
    EXPECT_EQ(vf["annotations"], (base::Json{{"rdma.mode", "vf"}, {"rdma.pool", "fast"}}))
        << "its range gives the address";
    EXPECT_EQ(vf["also"], base::Json::array({"enp1s0"}));
}

TEST(CtlSuggest, PolicyAndKernelDecide) {
    SuggestHost host(World::standard(KernelTraits::v7_3()));
    host.put("/proc/sys/kernel/osrelease", "6.12.9\n");
    EXPECT_TRUE(host.of("softroce").is_null()) << "rxe carries nothing there";
    EXPECT_FALSE(host.of("softiwarp").is_null());
    hook::Policy policy;
    policy.modes = {"vf"};
    host.state.config().policy = policy;
    EXPECT_TRUE(host.of("softiwarp").is_null());
    EXPECT_THAT(host.ask().text, HasSubstr("policy"));
}

}  // namespace
}  // namespace test
