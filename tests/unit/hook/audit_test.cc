// SPDX-License-Identifier: Apache-2.0
// The audit lines: one for each attach, detach, refusal and recovery, in the form of
// docs/reference/audit-log.md.
#include <cerrno>
#include <fstream>

#include <gtest/gtest.h>

#include "hook/command.h"
#include "hook/rdmactl/command.h"
#include "netns/base/log.h"
#include "tests/support/regex.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

class Audit : public Containers {
  protected:
    Audit() {
        state_.config().log_file = log_;
        // The programs do this at their start. Audit lines are written at every level.
        state_.config().log_level = base::log::Level::Error;
        base::log::open({.file = log_, .level = base::log::Level::Error, .program = "rdma-hook"});
    }

    ~Audit() override { base::log::open({}); }

    // The audit lines since the last call, without time and program.
    std::vector<std::string> lines() {
        std::ifstream file(log_);
        std::vector<std::string> fresh;
        size_t number = 0;
        for (std::string line; std::getline(file, line);) {
            const auto parts =
                match_text(line, R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (\S+) audit (.*))");
            if (parts.empty() || number++ < seen_)
                continue;
            fresh.push_back(parts[2]);
        }
        seen_ = number;
        return fresh;
    }

    std::string only_line() {
        const auto fresh = lines();
        EXPECT_EQ(fresh.size(), 1U) << testing::PrintToString(fresh);
        return fresh.empty() ? "" : fresh.front();
    }

    static void expect_form(const std::string& line, const std::string& form) {
        EXPECT_FALSE(match_text(line, form).empty()) << line << "\nis not " << form;
    }

    TempDir dir_;
    std::string log_ = dir_ / "log";
    size_t seen_ = 0;
};

TEST_F(Audit, AttachAndDetachAreALineEach) {
    Life one = softroce("one", "10.9.0.1/24,fd09::1/64");
    ASSERT_TRUE(one.start());
    expect_form(only_line(),
                "container=" + one.id() +
                    " event=attach attachment=[0-9a-f-]+ index=0 mode=softroce device=" +
                    one.environment("RDMA_DEVICE") +
                    " netdev=rdma0 addresses=10\\.9\\.0\\.1/24,fd09::1/64 joined=no");
    ASSERT_TRUE(one.poststop());
    expect_form(only_line(),
                "container=" + one.id() + " event=detach attachment=[0-9a-f-]+ users=0 result=ok");
}

TEST_F(Audit, WhoJoinsAndWhoStaysIsSaid) {
    Life one = softroce("one", "10.9.0.1/24");
    Life two = softroce("two", "10.9.0.1/24");
    two.network = one.network;
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    expect_form(lines().at(1), "container=" + two.id() + " event=attach .* joined=yes");
    ASSERT_TRUE(one.poststop());
    expect_form(only_line(), "container=" + one.id() + " event=detach .* users=1 result=ok");
}

TEST_F(Audit, EachDeviceOfTheHostIsALine) {
    fake_.world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    fake_.world.add_sriov("enp2s0", "0000:02:00.0", 0, Nic::Mlx5);
    Life one = container("one", {{"rdma.mode", "host"}, {"rdma.device", "all"}});
    ASSERT_TRUE(one.start());
    const auto attached = lines();
    ASSERT_EQ(attached.size(), 2U);
    for (size_t i = 0; i < attached.size(); ++i) {
        const std::string number = std::to_string(i);
        expect_form(attached[i],
                    "container=" + one.id() + " event=attach .* index=" + number +
                        " mode=host device=mlx5_" + number + " .*joined=no");
    }
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(lines().size(), 2U);
}

TEST_F(Audit, ARefusalIsALineWithStageCodeAndReason) {
    Life one = softroce("one", "10.9.0.1/24");
    Life two = softroce("two", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    (void)lines();
    const auto refused = two.precreate();
    ASSERT_FALSE(refused);
    EXPECT_TRUE(lines().empty()) << "main says it, once";
    netns::Host host = fake_.host();
    const hook::Call call{
        .host = host,
        .config = hook::ReadOnce{[this] { return base::Result<hook::Config>{state_.config()}; }},
        .bundle = two.bundle()};
    EXPECT_EQ(hook::report(*hook::parse_command({"precreate"}), call, refused.error()), 73);
    expect_form(only_line(),
                "container=" + two.id() +
                    " event=refusal stage=precreate optional=no code=busy error=\".*10\\.9\\.0\\.1 "
                    "is in use by another container.*\"");
    EXPECT_EQ(hook::report(*hook::parse_command({"poststop"}), call, refused.error()), 0);
    EXPECT_TRUE(lines().empty()) << "nothing is refused at the end";
}

TEST_F(Audit, WhoGoesWithoutRdmaIsRefusedToo) {
    fake_.world.kernel = KernelTraits::v6_12();
    for (const bool plain : {false, true}) {
        Life one = softroce(plain ? "two" : "one", "10.9.0.1/24");
        one.plain = plain;
        one.annotations["rdma.optional"] = "true";
        ASSERT_TRUE(one.start());
        expect_form(only_line(),
                    "container=" + one.id() +
                        " event=refusal stage=" + (plain ? "createRuntime" : "precreate") +
                        " optional=yes code=unsupported error=\".*\"");
    }
}

// The line says that it starts without RDMA.
TEST_F(Audit, WhoCannotEvenGoWithoutRdmaHasNoSuchLine) {
    for (const bool plain : {false, true}) {
        Life one = softroce(plain ? "two" : "one", "10.9.0.1/24");
        one.plain = plain;
        one.annotations["rdma.optional"] = "true";
        fake_.gate.fail_from(0, EIO, {"write " + state_.path() + "/pending/"});
        EXPECT_FALSE(one.start());
        fake_.gate.restart();
        EXPECT_TRUE(lines().empty()) << "main says it, once";
    }
}

TEST_F(Audit, WhatTheDeadLeftIsRecoveredUnderTheirNames) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    (void)lines();
    fake_.world.processes.erase(one.init);
    netns::Host host = fake_.host();
    hook::ctl::Options options;
    options.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    options.runtimes = state_.path() + "/runtimes";
    ASSERT_TRUE(hook::ctl::collect(options, host));
    expect_form(
        only_line(),
        "container=" + one.id() + " event=recovery attachment=[0-9a-f-]+ users=0 result=ok");
    expect_nothing_left();
}

TEST_F(Audit, RecoveryInAnAttachIsNotTheAttachedContainers) {
    Life one = softroce("one", "10.9.0.1/24");
    Life two = softroce("two", "10.9.0.2/24");
    ASSERT_TRUE(one.precreate());
    (void)lines();
    fake_.world.processes.erase(World::kEngine);
    fake_.world.add_process(1001, fake_.world.host);
    fake_.world.parent = 1001;
    ASSERT_TRUE(two.start());
    const auto said = lines();
    ASSERT_EQ(said.size(), 2U);
    expect_form(said[0], "container=" + one.id() + " event=recovery .* result=ok");
    expect_form(said[1], "container=" + two.id() + " event=attach .*");
}

TEST_F(Audit, WhatCannotBeUndoneSaysWhy) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    (void)lines();
    fake_.world.rdma.begin()->second.contexts = 2;
    EXPECT_FALSE(one.poststop());
    expect_form(only_line(),
                "container=" + one.id() +
                    " event=detach .* result=failed code=busy error=\".*still open 2 times.*\"");
    EXPECT_FALSE(collect(fake_, state_).trouble.empty());
    expect_form(only_line(), "container= event=recovery attachment=[0-9a-f-]+ result=failed .*");
    fake_.world.rdma.begin()->second.contexts = 0;
    EXPECT_TRUE(collect(fake_, state_).trouble.empty());
    expect_form(only_line(), "container= event=recovery attachment=[0-9a-f-]+ result=ok");
}

TEST_F(Audit, ALeaseWithoutOwnerIsAFile) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start() && one.poststop());
    (void)lines();
    const std::string lease = state_.path() + "/leases/9-none_10.9.0.9";
    ASSERT_TRUE(base::RealFiles{}.write(lease, "4-f0000001-abc"));
    EXPECT_EQ(collect(fake_, state_).leftovers, std::vector<std::string>{lease});
    EXPECT_EQ(only_line(), "container= event=recovery file=" + lease + " result=ok");
}

}  // namespace
}  // namespace test
