// SPDX-License-Identifier: Apache-2.0
// The contract of netns/process.h.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

template <class Outside>
class ProcessesContract : public ContractTest<Outside> {
  protected:
    netns::Processes& room() { return outside_.host().processes; }

    Outside outside_;
};

using ProcessesOutsides = testing::Types<FakeOutside<Kernel::V7_2>, KernelOutside>;
TYPED_TEST_SUITE(ProcessesContract, ProcessesOutsides, OutsideNames);

TYPED_TEST(ProcessesContract, ALivingProcessHasAToken) {
    const pid_t pid = this->outside_.container_pid();
    const auto token = this->room().token(pid);
    ASSERT_TRUE(token && *token);
    EXPECT_EQ((*token)->pid, pid);
    EXPECT_GT((*token)->start, 0U);
    EXPECT_EQ(this->room().token(pid).value(), *token) << "it stays the same";
}

TYPED_TEST(ProcessesContract, AZombieHasNone) {
    this->outside_.end_container();
    const auto token = this->room().token(this->outside_.container_pid());
    ASSERT_TRUE(token);
    EXPECT_FALSE(*token);
}

TYPED_TEST(ProcessesContract, AMissingProcessHasNone) {
    const auto token = this->room().token(this->outside_.missing_pid());
    ASSERT_TRUE(token);
    EXPECT_FALSE(*token);
}

TYPED_TEST(ProcessesContract, MemlockIsReadAndLowered) {
    const auto token = this->room().token(this->outside_.container_pid()).value().value();
    const auto before = this->room().memlock(token);
    ASSERT_TRUE(before) << before.error().message();
    const netns::Memlock less{.soft = 4096, .hard = 8192};
    EXPECT_NE(*before, less);
    const auto done = this->room().set_memlock(token, less);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(this->room().memlock(token).value(), less);
}

TYPED_TEST(ProcessesContract, MemlockOfWhoIsGoneIsUnavailable) {
    auto token = this->room().token(this->outside_.container_pid()).value().value();
    ++token.start;
    EXPECT_EQ(this->room().memlock(token).error().code, base::Code::Unavailable);
    EXPECT_EQ(this->room().set_memlock(token, {.soft = 1, .hard = 1}).error().code,
              base::Code::Unavailable);
}

TYPED_TEST(ProcessesContract, WeLiveAndTheParentDoes) {
    EXPECT_TRUE(this->room().token(this->room().parent()).value());
    EXPECT_TRUE(this->room().token(this->room().self()).value());
    EXPECT_NE(this->room().self(), this->room().parent());
}

TYPED_TEST(ProcessesContract, TheBootIdIsAUuid) {
    const auto id = this->room().boot_id();
    ASSERT_TRUE(id);
    EXPECT_EQ(id->size(), 36U);
    EXPECT_EQ(id->find_first_not_of("0123456789abcdef-"), std::string::npos);
}

TYPED_TEST(ProcessesContract, PathsExistOrNot) {
    const std::string proc = "/proc/" + std::to_string(this->outside_.container_pid());
    EXPECT_TRUE(this->room().exists(proc + "/ns/net"));
    EXPECT_TRUE(this->room().exists("/"));
    EXPECT_FALSE(this->room().exists(this->outside_.file_path("missing")));
    EXPECT_FALSE(this->room().exists(""));
    const std::string file = this->outside_.file_path("there");
    std::ofstream(file) << "x";
    EXPECT_TRUE(this->room().exists(file));
    EXPECT_FALSE(this->room().exists(file + "/below"));
}

}  // namespace
}  // namespace test
