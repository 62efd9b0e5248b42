// SPDX-License-Identifier: Apache-2.0
#include "netns/base/folder_watch.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace base {
namespace {

class FolderWatches : public testing::Test {
  protected:
    FolderWatches() { std::filesystem::create_directory(dir_ / "b"); }

    test::TempDir dir_;
};

TEST_F(FolderWatches, SeesFilesThatComeChangeAndGo) {
    auto watch = FolderWatch::open({dir_.path(), dir_ / "b"});
    ASSERT_TRUE(watch) << watch.error().message();
    const auto long_enough = [] { return Deadline::in(std::chrono::minutes(1)); };
    EXPECT_FALSE(watch->wait(Deadline::now()).value()) << "nothing has changed";
    std::ofstream(dir_ / "one") << "text";
    EXPECT_TRUE(watch->wait(long_enough()).value());
    EXPECT_FALSE(watch->wait(Deadline::now()).value()) << "all changes were one";
    std::ofstream(dir_ / "b/two") << "text";
    EXPECT_TRUE(watch->wait(long_enough()).value()) << "each folder";
    std::filesystem::rename(dir_ / "one", dir_ / "b/one");
    EXPECT_TRUE(watch->wait(long_enough()).value());
    std::filesystem::remove(dir_ / "b/one");
    EXPECT_TRUE(watch->wait(long_enough()).value());
    EXPECT_FALSE(watch->wait(Deadline::in(std::chrono::milliseconds(1))).value());
}

TEST_F(FolderWatches, WantsFolders) {
    EXPECT_FALSE(FolderWatch::open({dir_ / "nothing"}));
    std::ofstream(dir_ / "file") << "text";
    EXPECT_FALSE(FolderWatch::open({dir_ / "file"}));
}

}  // namespace
}  // namespace base
