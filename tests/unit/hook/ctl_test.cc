// SPDX-License-Identifier: Apache-2.0
// rdmactl's verbs over a fake host with a container that lives, dies, or leaves something behind.
#include <gtest/gtest.h>

#include "hook/ctl/command.h"
#include "hook/ctl/text.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {

class Ctl : public testing::Test {
  protected:
    Ctl() : one_(fake_, state_, "one") {
        one_.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    }

    using Verb = base::Result<hook::ctl::Answer> (*)(const hook::ctl::Options&, netns::Host&);

    hook::ctl::Answer ask(Verb verb) {
        netns::Host host = fake_.host();
        auto answer = verb(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? *answer : hook::ctl::Answer{};
    }

    FakeHost fake_;
    StateDir state_;
    Life one_;
    hook::ctl::Options options_;
};

TEST_F(Ctl, PlanPrintsEveryStepAndChangesNothing) {
    options_.annotations = {"rdma.mode=softroce", "rdma.ip=10.9.0.1/24"};
    const World before = fake_.world;
    const auto answer = ask(hook::ctl::plan);
    EXPECT_EQ(fake_.world, before);
    EXPECT_TRUE(state_.leftovers().empty());
    std::vector<std::string> kinds;
    for (const auto& step : answer.json["attachments"][0]["steps"])
        kinds.push_back(step["kind"]);
    EXPECT_EQ(kinds,
              (std::vector<std::string>{"pin_netns",
                                        "claim",
                                        "create_child",
                                        "strict_arp",
                                        "add_address",
                                        "create_rdma_link",
                                        "check_data_path"}));
    EXPECT_NE(answer.text.find("10.9.0.1"), std::string::npos);
}

TEST_F(Ctl, PlanRefusesWhatTheHookWould) {
    netns::Host host = fake_.host();
    options_.annotations = {"rdma.mode=softroce", "rdma.ip=10.9.0.0/24"};
    EXPECT_EQ(hook::ctl::plan(options_, host).error().code, base::Code::BadInput);
    options_.annotations = {"rdma.mode"};
    EXPECT_EQ(hook::ctl::plan(options_, host).error().code, base::Code::Usage);
    options_.annotations = {"other=x"};
    EXPECT_TRUE(ask(hook::ctl::plan).json["attachments"].empty());
}

TEST_F(Ctl, ListTellsTheLivingFromTheDead) {
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(ask(hook::ctl::list).json["containers"][0]["state"], "creating");
    ASSERT_TRUE(one_.create_runtime());
    const auto live = ask(hook::ctl::list);
    EXPECT_EQ(live.json["containers"][0]["state"], "live");
    EXPECT_NE(live.text.find("10.9.0.1/24"), std::string::npos);
    fake_.world.processes.erase(one_.init);
    EXPECT_EQ(ask(hook::ctl::list).json["containers"][0]["state"], "dead");
    const auto collected = ask(hook::ctl::collect);
    EXPECT_EQ(collected.json["containers"].size(), 1U);
    EXPECT_FALSE(collected.trouble);
    EXPECT_TRUE(ask(hook::ctl::list).json["containers"].empty());
}

TEST_F(Ctl, ListNamesWhatCouldNotBeUndone) {
    ASSERT_TRUE(one_.start());
    fake_.world.rdma.begin()->second.contexts = 2;
    EXPECT_FALSE(one_.poststop());
    const auto dirty = ask(hook::ctl::list);
    ASSERT_EQ(dirty.json["dirty"].size(), 1U);
    EXPECT_NE(dirty.text.find("still open 2 times"), std::string::npos) << dirty.text;
    EXPECT_TRUE(ask(hook::ctl::collect).trouble);
}

TEST_F(Ctl, FailuresAreRemembered) {
    netns::Host host = fake_.host();
    hook::Call call{.host = host,
                    .load_config = options_.load_config,
                    .root = true,
                    .self = "/usr/bin/rdma-hook",
                    .bundle = one_.bundle(),
                    .state_dir = {},
                    .container = {},
                    .attach = {}};
    hook::remember_failure(call, "precreate", base::make_error(base::Code::Busy, "taken"));
    options_.failed = true;
    const auto failed = ask(hook::ctl::list);
    EXPECT_EQ(failed.json["failures"][0]["code"], "busy");
    EXPECT_EQ(failed.json["failures"][0]["error"], "taken");
    options_.container = failed.json["failures"][0]["id"].get<std::string>().substr(0, 12);
    EXPECT_EQ(ask(hook::ctl::show).json["last_error"]["phase"], "precreate");
    options_.container = "nobody";
    EXPECT_EQ(hook::ctl::show(options_, host).error().code, base::Code::Unavailable);
}

TEST_F(Ctl, ABrokenConfigurationKeepsNobodyFromCollecting) {
    options_.load_config = []() -> base::Result<hook::Config> {
        return base::make_error(base::Code::BadConfig, "broken");
    };
    testing::internal::CaptureStderr();
    const hook::Config config = hook::ctl::config_for_upkeep(options_);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("broken"), std::string::npos);
    EXPECT_EQ(config.state_dir, hook::Config{}.state_dir);
    netns::Host host = fake_.host();
    EXPECT_EQ(hook::ctl::check_config(options_, host).error().code, base::Code::BadConfig);
}

TEST(CtlText, LaysOutColumnsAndAges) {
    EXPECT_EQ(hook::ctl::table({{"A", "BB"}, {"long", "x"}}), "A     BB\nlong  x\n");
    EXPECT_EQ(hook::ctl::age(100, 130), "30 s ago");
    EXPECT_EQ(hook::ctl::age(100, 100 + 600), "10 min ago");
    EXPECT_EQ(hook::ctl::age(100, 100 + 36000), "10 h ago");
    EXPECT_EQ(hook::ctl::age(0, 5), "");
}

}  // namespace
}  // namespace test
