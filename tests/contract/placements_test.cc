// SPDX-License-Identifier: Apache-2.0
// netns/placement.h against this machine's kernel, as root: a process with mounts of its own that
// waits, as a container's init does while hooks run, and root file systems that mean harm.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/placement.h"
#include "tests/support/temp_dir.h"

namespace test {
namespace {

using base::Code;
using netns::ContainerRoot;
using netns::Placement;

const Placement kZeroNode{
    .source = "/dev/zero", .mount = "dev", .folder = "infiniband", .name = "zero"};

// In the child: the mounts that a runtime makes. Nothing but system calls.
void be_init(const std::string& root, bool tmpfs, int ready) {
    const std::string dev = root + "/dev";
    bool made = ::unshare(CLONE_NEWNS) == 0 &&
                ::mount("", "/", "none", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount(root.c_str(), root.c_str(), "none", MS_BIND, nullptr) == 0;
    if (tmpfs)
        made = made && ::mount("tmpfs", dev.c_str(), "tmpfs", MS_NOSUID, "mode=755") == 0 &&
               ::mount("tmpfs", (root + "/run").c_str(), "tmpfs", MS_NOSUID, "mode=755") == 0;
    (void)!::write(ready, made ? "1" : "0", 1);
    for (;;)
        ::pause();
}

class PlacementsOfTheKernel : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "mounts need root";
        for (const char* folder : {"rootfs/dev", "rootfs/run", "outside"})
            std::filesystem::create_directories(dir_ / folder);
    }

    void TearDown() override { end(); }

    [[nodiscard]] std::string root() const { return dir_ / "rootfs"; }

    [[nodiscard]] std::string outside() const { return dir_ / "outside"; }

    // The path as the container sees it.
    [[nodiscard]] std::string inside(const std::string& path) const {
        return "/proc/" + std::to_string(pid_) + "/root" + root() + "/" + path;
    }

    void begin(bool tmpfs = true) {
        std::array<int, 2> ready{};
        ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
        const std::string path = root();
        pid_ = ::fork();
        if (pid_ == 0)
            be_init(path, tmpfs, ready[1]);
        char word = 0;
        ASSERT_EQ(::read(ready[0], &word, 1), 1);
        ::close(ready[0]);
        ::close(ready[1]);
        if (word != '1')
            GTEST_SKIP() << "no mount namespace can be made";
        init_ = netns::KernelProcesses{}.token(pid_).value().value();
    }

    void end() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    [[nodiscard]] ContainerRoot container() const { return {.init = init_, .path = root()}; }

    base::Result<> place(const Placement& what = kZeroNode) {
        return room_->place(container(), what);
    }

    void remove(const Placement& what = kZeroNode) {
        const auto done = room_->remove(container(), what);
        EXPECT_TRUE(done) << done.error().message();
    }

    void refused(Code code) {
        const auto done = place();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, code) << done.error().message();
        EXPECT_TRUE(std::filesystem::is_empty(outside()));
        remove();
    }

    [[nodiscard]] bool is_zero(const std::string& path) const {
        struct stat st {};

        return ::stat(inside(path).c_str(), &st) == 0 && S_ISCHR(st.st_mode) &&
               st.st_rdev == ::makedev(1, 5);
    }

    TempDir dir_;
    pid_t pid_ = -1;
    netns::ProcessToken init_;
    std::unique_ptr<netns::Placements> room_ = netns::make_kernel_placements();
};

TEST_F(PlacementsOfTheKernel, ANodeComesAndGoes) {
    begin();
    for (int i = 0; i < 2; ++i) {
        const auto done = place();
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_TRUE(place()) << "twice is once";
        EXPECT_TRUE(is_zero("dev/infiniband/zero"));
        EXPECT_TRUE(std::filesystem::is_empty(root() + "/dev")) << "nothing in the image";
        remove();
        remove();
        EXPECT_FALSE(std::filesystem::exists(inside("dev/infiniband")));
    }
}

TEST_F(PlacementsOfTheKernel, AFileIsReadOnly) {
    begin();
    std::ofstream(dir_ / "attach.json") << "{}";
    const Placement file{
        .source = dir_ / "attach.json", .mount = "run", .folder = "rdma", .name = "attach.json"};
    const auto done = place(file);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(std::filesystem::file_size(inside("run/rdma/attach.json")), 2U);
    EXPECT_LT(::open(inside("run/rdma/attach.json").c_str(), O_WRONLY | O_CLOEXEC), 0);
    EXPECT_EQ(errno, EROFS);
    remove(file);
    EXPECT_TRUE(std::filesystem::is_empty(inside("run")));
}

TEST_F(PlacementsOfTheKernel, ANodeThatIsThereStays) {
    begin();
    std::filesystem::create_directory(inside("dev/infiniband"));
    ASSERT_EQ(::mknod(inside("dev/infiniband/zero").c_str(), S_IFCHR | 0666, ::makedev(1, 5)), 0);
    EXPECT_TRUE(place());
    remove();
    EXPECT_TRUE(is_zero("dev/infiniband/zero"));
}

TEST_F(PlacementsOfTheKernel, WithoutTmpfsNothingIsWritten) {
    begin(false);
    refused(Code::Unsupported);
    EXPECT_TRUE(std::filesystem::is_empty(root() + "/dev"));
}

TEST_F(PlacementsOfTheKernel, ADevThatIsALinkIsRefused) {
    std::filesystem::remove(root() + "/dev");
    std::filesystem::create_directory_symlink(outside(), root() + "/dev");
    begin(false);
    refused(Code::Refused);
}

TEST_F(PlacementsOfTheKernel, AFolderThatIsALinkIsRefused) {
    begin();
    std::filesystem::create_directory_symlink(outside(), inside("dev/infiniband"));
    refused(Code::Refused);
    std::filesystem::remove(inside("dev/infiniband"));
    std::filesystem::create_directory_symlink("/proc/self/cwd", inside("dev/infiniband"));
    refused(Code::Refused);
}

TEST_F(PlacementsOfTheKernel, SomethingElseInTheWayIsRefusedAndStays) {
    begin();
    std::filesystem::create_directory(inside("dev/infiniband"));
    std::ofstream(inside("dev/infiniband/zero")) << "mine";
    refused(Code::Refused);
    EXPECT_EQ(std::filesystem::file_size(inside("dev/infiniband/zero")), 4U);
    std::filesystem::remove(inside("dev/infiniband/zero"));
    std::filesystem::create_symlink(outside() + "/zero", inside("dev/infiniband/zero"));
    refused(Code::Refused);
}

// The folder is a link to somewhere outside half of the time.
TEST_F(PlacementsOfTheKernel, Cve2026_24260_ASwappedFolderLeadsNowhere) {
    begin();
    const std::string one = inside("dev/infiniband");
    const std::string two = inside("dev/other");
    std::filesystem::create_directory(one);
    std::filesystem::create_directory_symlink(outside(), two);
    std::atomic<bool> stop = false;
    std::thread attacker([&] {
        while (!stop)
            (void)::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE);
    });
    int placed = 0;
    constexpr int kTries = 400;
    for (int i = 0; i < kTries; ++i) {
        placed += place() ? 1 : 0;
        (void)room_->remove(container(), kZeroNode);  // what was swapped away goes with the tmpfs
    }
    stop = true;
    attacker.join();
    RecordProperty("placed", placed);
    EXPECT_TRUE(std::filesystem::is_empty(outside()));
    EXPECT_TRUE(std::filesystem::is_empty(root() + "/dev"));
}

TEST_F(PlacementsOfTheKernel, AnotherRootIsRefused) {
    begin();
    std::filesystem::create_directories(dir_ / "another/dev");
    const auto done = room_->place({.init = init_, .path = dir_ / "another"}, kZeroNode);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::Unsupported) << done.error().message();
}

TEST_F(PlacementsOfTheKernel, AContainerThatIsGoneHasNothing) {
    begin();
    netns::ProcessToken reused = init_;
    ++reused.start;
    EXPECT_EQ(room_->place({.init = reused, .path = root()}, kZeroNode).error().code,
              Code::Unavailable);
    EXPECT_FALSE(std::filesystem::exists(inside("dev/infiniband")));
    end();
    EXPECT_EQ(place().error().code, Code::Unavailable);
    remove();
}

TEST_F(PlacementsOfTheKernel, OurOwnMountsAreRefused) {
    const auto self = netns::KernelProcesses{}.token(::getpid()).value().value();
    const auto done = room_->place({.init = self, .path = root()}, kZeroNode);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::Refused) << done.error().message();
}

}  // namespace
}  // namespace test
