// SPDX-License-Identifier: Apache-2.0
// udev's database, in the states in which a renamed netdev is seen there.
#include "netns/kernel/udev.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace netns {
namespace {

class UdevDatabase : public testing::Test {
  protected:
    UdevDatabase() { std::filesystem::create_directories(run_ / "data"); }

    void write(const std::string& path, const std::string& text) {
        std::ofstream(run_ / path) << text;
    }

    bool owes() { return udev_owes_name(run_.path(), 7); }

    test::TempDir run_;
};

TEST_F(UdevDatabase, OwesNothingWhereItDoesNotRun) {
    EXPECT_FALSE(owes());
    EXPECT_FALSE(udev_owes_name(run_ / "none", 7));
}

TEST_F(UdevDatabase, OwesANameUntilItHasRenamed) {
    write("control", "");
    write("data/n77", "I:1\nE:ID_NET_NAME=enp1s0v0\n");
    EXPECT_TRUE(owes()) << "the netdev has no entry";
    write("data/n7", "E:ID_NET_NAME=enp1s0v0\nE:ID_RENAMING=1\nG:systemd\n");
    EXPECT_TRUE(owes()) << "the renaming is under way";
    write("data/n7", "I:1\nE:ID_PROCESSING=1\n");
    EXPECT_TRUE(owes()) << "its rules are not through";
    write("data/n7", "I:1\nE:ID_NET_NAME=enp1s0v0\nG:systemd\n");
    EXPECT_FALSE(owes());
}

}  // namespace
}  // namespace netns
