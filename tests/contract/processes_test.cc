// SPDX-License-Identifier: Apache-2.0
// The contract of netns/process.h.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

class ProcessesContract : public ContractTest {
  protected:
    netns::Processes& room() { return outside_->host().processes; }
};

INSTANTIATE_TEST_SUITE_P(, ProcessesContract, Values(fake(Kernel::V7_2), kernel()), OutsideNames());

TEST_P(ProcessesContract, ALivingProcessHasAToken) {
    const pid_t pid = outside_->container_pid();
    const auto token = room().token(pid);
    ASSERT_TRUE(token && *token);
    EXPECT_EQ((*token)->pid, pid);
    EXPECT_GT((*token)->start, 0U);
    EXPECT_EQ(room().token(pid).value(), *token) << "it stays the same";
}

TEST_P(ProcessesContract, AZombieHasNone) {
    outside_->end_container();
    const auto token = room().token(outside_->container_pid());
    ASSERT_TRUE(token);
    EXPECT_FALSE(*token);
}

TEST_P(ProcessesContract, AMissingProcessHasNone) {
    const auto token = room().token(outside_->missing_pid());
    ASSERT_TRUE(token);
    EXPECT_FALSE(*token);
}

TEST_P(ProcessesContract, MemlockIsReadAndLowered) {
    const auto token = room().token(outside_->container_pid()).value().value();
    const auto before = room().memlock(token);
    ASSERT_TRUE(before) << before.error().message();
    const netns::Memlock less{.soft = 4096, .hard = 8192};
    EXPECT_NE(*before, less);
    const auto done = room().set_memlock(token, less);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(room().memlock(token).value(), less);
}

TEST_P(ProcessesContract, MemlockOfWhoIsGoneIsUnavailable) {
    auto token = room().token(outside_->container_pid()).value().value();
    ++token.start;
    EXPECT_EQ(room().memlock(token).error().code, base::Code::Unavailable);
    EXPECT_EQ(room().set_memlock(token, {.soft = 1, .hard = 1}).error().code,
              base::Code::Unavailable);
}

TEST_P(ProcessesContract, WeLiveAndTheParentDoes) {
    EXPECT_TRUE(room().token(room().parent()).value());
    EXPECT_TRUE(room().token(room().self()).value());
    EXPECT_NE(room().self(), room().parent());
}

TEST_P(ProcessesContract, TheBootIdIsAUuid) {
    const auto id = room().boot_id();
    ASSERT_TRUE(id);
    EXPECT_EQ(id->size(), 36U);
    EXPECT_EQ(id->find_first_not_of("0123456789abcdef-"), std::string::npos);
}

TEST_P(ProcessesContract, PathsExistOrNot) {
    const std::string proc = "/proc/" + std::to_string(outside_->container_pid());
    EXPECT_TRUE(room().exists(proc + "/ns/net"));
    EXPECT_TRUE(room().exists("/"));
    EXPECT_FALSE(room().exists(outside_->file_path("missing")));
    EXPECT_FALSE(room().exists(""));
    const std::string file = outside_->file_path("there");
    std::ofstream(file) << "x";
    EXPECT_TRUE(room().exists(file));
    EXPECT_FALSE(room().exists(file + "/below"));
}

}  // namespace
}  // namespace test
