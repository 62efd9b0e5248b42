// SPDX-License-Identifier: Apache-2.0
// A class of a sysfs made by hand, in the layout of a kernel's.
#include "netns/sys_class.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace netns {
namespace {

class SysClass : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directories(root_ / "infiniband_verbs");
        link("uverbs0", "../../devices/pci0000:00/0000:00:02.0/infiniband_verbs/uverbs0");
        link("uverbs1", "../../devices/virtual/infiniband_verbs/uverbs1");
        std::ofstream(root_ / "infiniband_verbs/abi_version") << "6\n";
    }

    void link(const std::string& name, const std::string& target) {
        std::filesystem::create_symlink(target, root_ / ("infiniband_verbs/" + name));
    }

    Result<std::optional<ClassFolder>> look(const std::vector<std::string>& devices) {
        return KernelSysClasses{root_.path()}.look("infiniband_verbs", devices);
    }

    test::TempDir root_;
};

TEST_F(SysClass, TheDevicesAskedForAndTheClassesOwnFiles) {
    const auto found = look({"uverbs1"});
    ASSERT_TRUE(found && *found) << found.error().message();
    EXPECT_EQ(**found,
              (ClassFolder{.links = {{"uverbs1", "../../devices/virtual/infiniband_verbs/uverbs1"}},
                           .files = {{"abi_version", "6\n"}}}));
    EXPECT_EQ(look({"uverbs0", "uverbs1"}).value()->links.size(), 2U);
    EXPECT_TRUE(look({}).value()->links.empty());
}

TEST_F(SysClass, AMissingDeviceIsUnavailableAndAMissingClassIsNothing) {
    const auto missing = look({"uverbs1", "uverbs2"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::Unavailable);
    EXPECT_EQ(missing.error().sys, ENOENT);
    EXPECT_FALSE(KernelSysClasses{root_.path()}.look("infiniband_mad", {}).value());
}

TEST_F(SysClass, ALinkThatLeavesSysfsIsNotHandedOn) {
    link("uverbs7", "/etc");
    link("uverbs8", "../../../etc/passwd");
    for (const char* name : {"uverbs7", "uverbs8", "abi_version"})
        EXPECT_FALSE(look({name})) << name;
}

}  // namespace
}  // namespace netns
