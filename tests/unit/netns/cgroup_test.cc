// SPDX-License-Identifier: Apache-2.0
// The way to rdma.max through a tree made by hand, in the layout of cgroup2's. What a kernel
// answers is the contract test's to ask.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "netns/kernel/cgroup_tree.h"
#include "tests/support/temp_dir.h"

namespace netns {
namespace {

constexpr char kScope[] = "/machine.slice/libpod-1.scope";

TEST(OwnCgroups, AreThoseUpToTheScopeThatTheHostMade) {
    using Paths = std::vector<std::string>;
    const std::string ours = "/system.slice/engine.service";
    EXPECT_EQ(own_cgroups_of("/machine.slice/libpod-1.scope/container", ours),
              (Paths{"/machine.slice/libpod-1.scope/container", "/machine.slice/libpod-1.scope"}));
    EXPECT_EQ(own_cgroups_of("/machine.slice/libpod-1.scope", ours),
              Paths{"/machine.slice/libpod-1.scope"});
    // systemd as init makes one more, and moves itself there.
    EXPECT_EQ(own_cgroups_of("/machine.slice/libpod-1.scope/container/init.scope", ours),
              (Paths{"/machine.slice/libpod-1.scope/container/init.scope",
                     "/machine.slice/libpod-1.scope/container",
                     "/machine.slice/libpod-1.scope"}));
    // cgroupfs instead of systemd, and an engine in the same scope: the innermost alone.
    EXPECT_EQ(own_cgroups_of("/docker/1", ours), Paths{"/docker/1"});
    EXPECT_EQ(own_cgroups_of("/user.slice/session-1.scope/1", "/user.slice/session-1.scope/0"),
              Paths{"/user.slice/session-1.scope/1"});
}

class CgroupTreeTest : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* folder : {"", "/machine.slice", kScope}) {
            std::filesystem::create_directories(root_.path() + folder);
            write(folder, "cgroup.controllers", "cpu rdma pids\n");
            write(folder, "cgroup.subtree_control", "cpu pids\n");
        }
        write(kScope, "rdma.max", "");
    }

    void write(const std::string& folder, const char* name, const std::string& text) {
        std::ofstream(root_.path() + folder + "/" + name) << text;
    }

    std::string read(const std::string& folder, const char* name) {
        std::ostringstream text;
        text << std::ifstream(root_.path() + folder + "/" + name).rdbuf();
        return text.str();
    }

    CgroupTree tree() { return CgroupTree::at(root_.path()).value(); }

    Result<> set(const RdmaLimit& limit, const std::string& path = kScope) {
        return tree().set_rdma_max(path, limit);
    }

    test::TempDir root_;
};

TEST_F(CgroupTreeTest, TheRootMustHaveTheController) {
    EXPECT_TRUE(tree().check_rdma());
    write("", "cgroup.controllers", "cpu pids rdmax\n");
    const auto none = tree().check_rdma();
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unsupported);
    EXPECT_FALSE(none.error().fix.empty());
}

TEST_F(CgroupTreeTest, EveryAncestorHandsItDownAndTheCgroupItselfDoesNot) {
    ASSERT_TRUE(tree().enable_rdma(kScope));
    EXPECT_TRUE(read("", "cgroup.subtree_control").starts_with("+rdma"));
    EXPECT_TRUE(read("/machine.slice", "cgroup.subtree_control").starts_with("+rdma"));
    EXPECT_EQ(read(kScope, "cgroup.subtree_control"), "cpu pids\n");
}

TEST_F(CgroupTreeTest, WhoHandsItDownAlreadyIsNotWrittenTo) {
    write("", "cgroup.subtree_control", "cpu rdma\n");
    ASSERT_TRUE(tree().enable_rdma(kScope));
    EXPECT_EQ(read("", "cgroup.subtree_control"), "cpu rdma\n");
}

TEST_F(CgroupTreeTest, AnAncestorThatCannotIsNamed) {
    std::filesystem::remove(root_ / "machine.slice/cgroup.subtree_control");
    const auto none = tree().enable_rdma(kScope);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unsupported);
    EXPECT_NE(none.error().text.find("cgroup /machine.slice has no controller rdma"),
              std::string::npos)
        << none.error().message();
}

TEST_F(CgroupTreeTest, AMissingCgroupIsUnavailable) {
    EXPECT_EQ(tree().enable_rdma("/machine.slice/gone/x").error().code, Code::Unavailable);
    EXPECT_EQ(set({.device = "rxe0", .handles = 1, .objects = {}}, "/gone").error().code,
              Code::Unavailable);
}

TEST_F(CgroupTreeTest, NoStepFollowsALink) {
    std::filesystem::create_directory_symlink(root_ / "machine.slice", root_ / "link");
    EXPECT_FALSE(tree().enable_rdma("/link/libpod-1.scope"));
    EXPECT_FALSE(set({.device = "rxe0", .handles = 1, .objects = {}}, "/link/libpod-1.scope"));
    std::filesystem::remove(root_.path() + kScope + "/rdma.max");
    write("", "elsewhere", "untouched");
    std::filesystem::create_symlink(root_ / "elsewhere", root_.path() + kScope + "/rdma.max");
    const auto link = set({.device = "rxe0", .handles = 1, .objects = {}});
    ASSERT_FALSE(link);
    EXPECT_EQ(link.error().sys, ELOOP);
    EXPECT_EQ(read("", "elsewhere"), "untouched");
}

TEST_F(CgroupTreeTest, ALimitIsWrittenInOnePiece) {
    ASSERT_TRUE(set({.device = "rxe0", .handles = 2, .objects = 100}));
    EXPECT_EQ(read(kScope, "rdma.max"), "rxe0 hca_handle=2 hca_object=100");
}

TEST_F(CgroupTreeTest, WhatIsNotKeptIsAnError) {
    // The tail of what was there stays in a plain file: the device's line does not say the limit.
    write(kScope, "rdma.max", "rxe0 hca_handle=2345 hca_object=max \n");
    const auto changed = set({.device = "rxe0", .handles = 2, .objects = {}});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, Code::Kernel);
    EXPECT_NE(changed.error().text.find("does not keep 'rxe0 hca_handle=2'"), std::string::npos)
        << changed.error().message();
}

TEST_F(CgroupTreeTest, NeitherTheRootNorStrangeNames) {
    EXPECT_EQ(set({.device = "rxe0", .handles = 2, .objects = {}}, "/").error().code,
              Code::Unsupported);
    for (const char* name : {"", "rxe0 hca_handle=max", "a\nb"})
        EXPECT_EQ(set({.device = name, .handles = 2, .objects = {}}).error().code, Code::BadInput);
}

TEST(CgroupPath, OfAProcess) {
    EXPECT_EQ(parse_cgroup_path("0::/a/b.scope\n").value(), "/a/b.scope");
    EXPECT_EQ(parse_cgroup_path("0::/\n").value(), "/");
    EXPECT_EQ(parse_cgroup_path("12:rdma:/x\n0::/a\n").value(), "/a");
    EXPECT_EQ(parse_cgroup_path("0::/a..b/...\n").value(), "/a..b/...");

    const struct {
        const char* text;
        Code code;
    } bad[] = {
        {"", Code::Unsupported},
        {"12:rdma:/x\n1:name=systemd:/\n", Code::Unsupported},
        {"0::/../x\n", Code::Unsupported},
        {"0::/a/..\n", Code::Unsupported},
        {"0::/./a\n", Code::Unsupported},
        {"0::a\n", Code::Internal},
        {"0::\n", Code::Internal},
        {"0::/a (deleted)\n", Code::Unavailable},
    };

    for (const auto& row : bad) {
        const auto path = parse_cgroup_path(row.text);
        ASSERT_FALSE(path) << row.text;
        EXPECT_EQ(path.error().code, row.code) << row.text;
    }
}

TEST(CgroupPath, SameOrAbove) {
    EXPECT_TRUE(is_same_or_above("/", "/a"));
    EXPECT_TRUE(is_same_or_above("/a", "/a"));
    EXPECT_TRUE(is_same_or_above("/a", "/a/b"));
    EXPECT_FALSE(is_same_or_above("/a", "/ab"));
    EXPECT_FALSE(is_same_or_above("/a/b", "/a"));
}

}  // namespace
}  // namespace netns
