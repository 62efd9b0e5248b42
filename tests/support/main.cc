// SPDX-License-Identifier: Apache-2.0
// The main of every test program: fails a test that leaves a file descriptor open.
#include <string>

#include <dirent.h>
#include <gtest/gtest.h>

namespace {
int open_descriptors() {
    int count = 0;
    DIR* dir = ::opendir("/proc/self/fd");
    while (dir != nullptr && ::readdir(dir) != nullptr)
        ++count;
    if (dir != nullptr)
        (void)::closedir(dir);
    return count;
}

class DescriptorListener : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo&) override { before_ = open_descriptors(); }

    void OnTestEnd(const testing::TestInfo&) override {
        EXPECT_EQ(open_descriptors(), before_) << "the test leaves file descriptors open";
    }

    int before_ = 0;
};
}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::UnitTest::GetInstance()->listeners().Append(new DescriptorListener);
    return RUN_ALL_TESTS();
}
