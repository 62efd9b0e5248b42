// SPDX-License-Identifier: Apache-2.0
#include "hook/command.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace hook {
namespace {

TEST(Command, KnowsItsPhases) {
    for (const char* phase : {"precreate", "prestart", "createRuntime", "poststop"})
        EXPECT_EQ(parse_command({phase})->phase->name, phase);
    EXPECT_FALSE(parse_command({"poststop"})->phase->may_fail);
    const auto later =
        parse_command({"createRuntime", "--state", "/s", "--container", "k", "--attach", "u"});
    ASSERT_TRUE(later);
    EXPECT_EQ(later->state_dir, "/s");
    EXPECT_EQ(later->container, "k");
    EXPECT_EQ(later->attach, "u");
    EXPECT_EQ(parse_command({"precreate", "--config", "/c"})->config_path, "/c");
}

TEST(Command, RefusesWhatItDoesNotKnow) {
    const std::vector<std::vector<std::string>> bad = {{},
                                                       {""},
                                                       {"prestart "},
                                                       {"precreate", "--stat", "x"},
                                                       {"precreate", "--state"},
                                                       {"--state", "/s"}};
    for (const auto& args : bad)
        EXPECT_EQ(parse_command(args).error().code, base::Code::Usage);
}

TEST(Command, APlainHookMayAskForTheContainer) {
    const auto command = parse_command({"createRuntime",
                                        "--annotation",
                                        "rdma.mode=vf",
                                        "--annotation",
                                        "rdma.device=enp1s0#1=2"});
    ASSERT_TRUE(command);
    EXPECT_EQ(command->annotations,
              (Annotations{{"rdma.mode", "vf"}, {"rdma.device", "enp1s0#1=2"}}));
    const std::vector<std::vector<std::string>> bad = {
        {"precreate", "--annotation", "rdma.mode=vf"},
        {"poststop", "--annotation", "rdma.mode=vf"},
        {"prestart", "--annotation"},
        {"prestart", "--annotation", "rdma.mode"},
        {"prestart", "--annotation", "run.oci.hooks.stdout=/etc/passwd"},
        {"prestart", "--annotation", "rdma.mode=vf", "--annotation", "rdma.mode=vf"},
        {"createRuntime", "--container", "k", "--annotation", "rdma.mode=vf"}};
    for (const auto& args : bad)
        EXPECT_EQ(parse_command(args).error().code, base::Code::Usage);
}

TEST(Command, AnExceptionIsABugAndNoCrash) {
    const auto outcome = guarded([]() -> Result<> { throw std::runtime_error("odd\n"); });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, base::Code::Internal);
    EXPECT_EQ(outcome.error().text, "bug: odd\\x0a");
    EXPECT_FALSE(
        guarded([]() -> Result<> { throw 1; }));  // NOLINT(misc-throw-by-value-catch-by-reference)
    EXPECT_TRUE(guarded([]() -> Result<> { return {}; }));
}

}  // namespace
}  // namespace hook
