// SPDX-License-Identifier: Apache-2.0
// What keeps an undo from its end, so that gc has to finish it, and what does not.
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/hook/containers.h"

namespace test {
namespace {

class Undo : public Containers {
  protected:
    Life life(const std::string& id, const std::string& ip) {
        Life life{fake_, state_, id};
        life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", ip}};
        return life;
    }
};

TEST_F(Undo, ADeviceInUseStaysWithAReasonAndIsFinishedLater) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.rdma.begin()->second.contexts = 1;
    const auto stopped = one.poststop();
    ASSERT_FALSE(stopped);
    EXPECT_NE(stopped.error().message().find("open"), std::string::npos);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    EXPECT_EQ(fake_.world.pins.size(), 1U) << "the pin is the only way back";
    EXPECT_FALSE(collect(fake_, state_).trouble.empty());
    fake_.world.rdma.begin()->second.contexts = 0;
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

// The kernel counts contexts, and waits for ever for whoever has the node open without one.
TEST_F(Undo, ADeviceThatIsOpenWithoutAContextStaysToo) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    FakeRdma& device = fake_.world.rdma.begin()->second;
    device.openers = {4711, 17};
    const auto stopped = one.poststop();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, base::Code::Busy);
    EXPECT_NE(stopped.error().message().find("is still open, by process 17, 4711; end it"),
              std::string::npos)
        << stopped.error().message();
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    device.openers.clear();
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

// udev's rules of older rdma-core know no name that somebody chose.
TEST_F(Undo, ADeviceThatUdevRenamedIsOurs) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.rdma.begin()->second.device.name = "rocex0200000909fffe01";
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();

    Life two = life("two", "10.9.0.1/24");
    two.annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    ASSERT_TRUE(two.start());
    fake_.world.rdma.begin()->second.device.name = "rocex0200000909fffe02";
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

// Whoever cannot be looked at is not one that is being worked on.
TEST_F(Undo, GcSaysWhatItCannotLock) {
    namespace fs = std::filesystem;
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.processes.erase(one.init);
    std::vector<fs::path> locks;
    for (const auto& entry : fs::directory_iterator(state_.path() + "/locks"))
        locks.push_back(entry.path());
    ASSERT_FALSE(locks.empty());
    for (const fs::path& lock : locks) {
        fs::remove(lock);
        fs::create_directory(lock);
    }
    EXPECT_FALSE(collect(fake_, state_).trouble.empty());
    for (const fs::path& lock : locks)
        fs::remove(lock);
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    expect_nothing_left();
}

}  // namespace
}  // namespace test
