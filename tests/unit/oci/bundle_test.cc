// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/bundle.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "tests/support/temp_dir.h"

namespace oci {
namespace {
using base::Code;
using testing::ElementsAre;

class BundleFolder : public testing::Test {
  protected:
    void SetUp() override {
        std::ofstream(dir / kSpecFile) << "old";
        ASSERT_EQ(::chmod((dir / kSpecFile).c_str(), 0604), 0);
    }

    [[nodiscard]] std::string content(const std::string& name) const {
        const auto text = base::RealFiles{}.read(dir / name, 100);
        return text ? *text : text.error().message();
    }

    test::TempDir dir;
};

TEST_F(BundleFolder, PathHasOneSpelling) {
    const std::string real = std::filesystem::canonical(dir.path());
    ASSERT_EQ(::symlink(".", (dir / "link").c_str()), 0);
    for (const std::string& path : {dir.path(), dir.path() + "//.", dir / "link", dir / "link/"})
        EXPECT_EQ(Bundle::open(path)->path(), real) << path;
    EXPECT_EQ(Bundle::open("")->path(), std::filesystem::current_path());
    EXPECT_FALSE(Bundle::open(dir / "gone"));
    EXPECT_FALSE(Bundle::open(dir / kSpecFile));
}

TEST_F(BundleFolder, Reads) {
    const auto bundle = Bundle::open(dir.path());
    EXPECT_EQ(*bundle->read(kSpecFile, 3), "old");
    EXPECT_EQ(bundle->read(kSpecFile, 2).error().code, Code::BadInput);
    EXPECT_EQ(bundle->read("gone", 100).error().sys, ENOENT);
    EXPECT_FALSE(bundle->read(".", 100));
    ASSERT_EQ(::symlink(kSpecFile, (dir / "link").c_str()), 0);
    EXPECT_EQ(bundle->read("link", 100).error().sys, ELOOP);
    ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(bundle->read("fifo", 100).error().code, Code::BadInput) << "and does not wait";
}

TEST_F(BundleFolder, ReplacesAndKeepsTheMode) {
    const auto bundle = Bundle::open(dir.path());
    const std::string stale = ".config.json.rdma-" + std::to_string(::getpid());
    std::ofstream(dir / stale) << "left by a dead process";
    ASSERT_TRUE(bundle->replace("new"));
    EXPECT_EQ(content(kSpecFile), "new");

    struct stat st {};

    ASSERT_EQ(::stat((dir / kSpecFile).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0604U);
    EXPECT_THAT(*base::RealFiles{}.list(dir.path()), ElementsAre(kSpecFile));
}

TEST_F(BundleFolder, IsTheFolderThatWasOpened) {
    const auto bundle = Bundle::open(dir.path());
    const std::string moved = dir.path() + "-moved";
    std::filesystem::rename(dir.path(), moved);
    EXPECT_TRUE(bundle->replace("new"));
    std::filesystem::rename(moved, dir.path());
    EXPECT_EQ(content(kSpecFile), "new");
}

TEST_F(BundleFolder, ReplacesNoLink) {
    std::filesystem::rename(dir / kSpecFile, dir / "target");
    ASSERT_EQ(::symlink("target", (dir / kSpecFile).c_str()), 0);
    EXPECT_FALSE(Bundle::open(dir.path())->replace("new"));
    EXPECT_EQ(content("target"), "old");
}

TEST_F(BundleFolder, WhoMayWrite) {
    const auto bundle = Bundle::open(dir.path());
    EXPECT_TRUE(bundle->check_owner());
    ASSERT_EQ(::chmod((dir / kSpecFile).c_str(), 0660), 0);
    EXPECT_EQ(bundle->check_owner().error().code, Code::Refused);
    ASSERT_EQ(::chmod((dir / kSpecFile).c_str(), 0644), 0);
    ASSERT_EQ(::chmod(dir.path().c_str(), 0702), 0);
    EXPECT_EQ(bundle->check_owner().error().code, Code::Refused);
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    EXPECT_TRUE(bundle->check_owner());
}
}  // namespace
}  // namespace oci
