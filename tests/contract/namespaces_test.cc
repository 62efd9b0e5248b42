// SPDX-License-Identifier: Apache-2.0
// The contract of netns/namespace.h.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/file_lock.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

class NamespacesContract : public ContractTest {
  protected:
    netns::Netnses& room() { return outside_->host().namespaces; }
};

INSTANTIATE_TEST_SUITE_P(,
                         NamespacesContract,
                         Values(fake(Kernel::V7_2), kernel()),
                         OutsideNames());

TEST_P(NamespacesContract, CurrentIsTheHostsAndNotTheContainers) {
    const auto current = room().current();
    ASSERT_TRUE(current) << current.error().message();
    EXPECT_EQ(current->id(), outside_->host_ns().id());
    EXPECT_FALSE(current->id() == outside_->container_ns().id());
}

TEST_P(NamespacesContract, AProcessLeadsToItsNamespace) {
    const pid_t pid = outside_->container_pid();
    const auto by_pid = room().open_process(pid);
    ASSERT_TRUE(by_pid) << by_pid.error().message();
    const auto by_path = room().open("/proc/" + std::to_string(pid) + "/ns/net");
    ASSERT_TRUE(by_path) << by_path.error().message();
    EXPECT_EQ(by_pid->id(), by_path->id());
}

TEST_P(NamespacesContract, AProcessThatIsGoneIsUnavailable) {
    const Error gone = error_of(room().open_process(outside_->missing_pid()));
    EXPECT_EQ(gone.code, Code::Unavailable);
}

TEST_P(NamespacesContract, AZombieHasNoNamespace) {
    outside_->end_container();
    const Error gone = error_of(room().open_process(outside_->container_pid()));
    EXPECT_EQ(gone.code, Code::Unavailable) << gone.message();
}

TEST_P(NamespacesContract, OtherFilesAreRefused) {
    const std::string path = outside_->file_path("plain");
    std::ofstream(path) << "x";
    for (const std::string& other : {path, std::string("/"), std::string("/dev/null")}) {
        const auto refused = room().open(other);
        ASSERT_FALSE(refused) << other;
        EXPECT_EQ(refused.error().code, Code::BadInput) << refused.error().message();
    }
}

TEST_P(NamespacesContract, AMissingPathIsUnavailable) {
    const Error missing = error_of(room().open(outside_->file_path("missing")));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_EQ(missing.sys, ENOENT);
}

TEST_P(NamespacesContract, AMadeNamespaceIsEmptyButForLoWhichIsUp) {
    const auto made = room().make();
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_FALSE(made->id() == outside_->host_ns().id());
    const auto links = outside_->host().links.list(*made);
    ASSERT_TRUE(links) << links.error().message();
    ASSERT_EQ(links->size(), 1U);
    EXPECT_EQ(links->front().name, "lo");
    EXPECT_EQ(links->front().index, 1U);
    EXPECT_TRUE(links->front().up);
    EXPECT_TRUE(links->front().loopback);
    EXPECT_EQ(room().current()->id(), outside_->host_ns().id());
}

TEST_P(NamespacesContract, APinKeepsANamespaceWithoutProcessAndHandle) {
    const std::string path = outside_->pin_path("kept");
    const netns::NetnsId id = outside_->container_ns().id();
    ASSERT_TRUE(room().pin(outside_->container_ns(), path));
    outside_->end_container();
    outside_->settle();
    const auto kept = room().open_pin(path, id);
    ASSERT_TRUE(kept) << kept.error().message();
    ASSERT_TRUE(*kept);
    EXPECT_EQ((*kept)->id(), id);
    const auto links = outside_->host().links.list(**kept);
    ASSERT_TRUE(links) << links.error().message();
    EXPECT_EQ(links->size(), 1U);
    ASSERT_TRUE(room().unpin(path));
}

TEST_P(NamespacesContract, ACookieNamesANamespaceForGood) {
    const auto own = room().cookie(outside_->host_ns());
    const auto container = room().cookie(outside_->container_ns());
    ASSERT_TRUE(own && container);
    EXPECT_NE(*container, 0U);
    EXPECT_NE(*container, *own);
    EXPECT_EQ(*container, *room().cookie(outside_->container_ns()));
}

TEST_P(NamespacesContract, SearchFindsWhatAProcessIsInOrAMountKeeps) {
    const auto find = [&](netns::NetnsId id) {
        const auto found = room().search(
            [&](const netns::Netns& ns) -> base::Result<bool> { return ns.id() == id; });
        EXPECT_TRUE(found) << found.error().message();
        return found && *found && (*found)->id() == id;
    };
    const netns::NetnsId id = outside_->container_ns().id();
    EXPECT_TRUE(find(id)) << "by its process";
    const std::string path = outside_->pin_path("searched");
    ASSERT_TRUE(room().pin(outside_->container_ns(), path));
    outside_->end_container();
    EXPECT_TRUE(find(id)) << "by its mount";
    ASSERT_TRUE(room().unpin(path));
    const auto made = room().make();
    ASSERT_TRUE(made);
    EXPECT_FALSE(find(made->id())) << "a descriptor is no place";
}

TEST_P(NamespacesContract, PinningTwiceIsDone) {
    const std::string path = outside_->pin_path("twice");
    const Netns container = outside_->container_ns();
    ASSERT_TRUE(room().pin(container, path));
    EXPECT_TRUE(room().pin(container, path));
    EXPECT_TRUE(room().unpin(path));
    EXPECT_FALSE(*room().open_pin(path, container.id()));
}

TEST_P(NamespacesContract, APinOfAnotherNamespaceIsInTheWay) {
    const std::string path = outside_->pin_path("other");
    ASSERT_TRUE(room().pin(outside_->container_ns(), path));
    const Error taken = error_of(room().pin(outside_->host_ns(), path));
    EXPECT_EQ(taken.code, Code::Busy);
    EXPECT_EQ(taken.sys, EEXIST);
    EXPECT_FALSE(*room().open_pin(path, outside_->host_ns().id()));
    EXPECT_TRUE(room().unpin(path));
}

TEST_P(NamespacesContract, UnpinningIsDoneAsOftenAsAsked) {
    const std::string path = outside_->pin_path("gone");
    EXPECT_TRUE(room().unpin(path));
    ASSERT_TRUE(room().pin(outside_->container_ns(), path));
    EXPECT_TRUE(room().unpin(path));
    EXPECT_TRUE(room().unpin(path));
    const Error gone = error_of(room().open(path));
    EXPECT_EQ(gone.sys, ENOENT);
}

TEST_P(NamespacesContract, AMissingPinIsNothing) {
    const auto none = room().open_pin(outside_->pin_path("never"), outside_->host_ns().id());
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_FALSE(*none);
}

TEST(Pins, AFolderThatAProcessKeepsLockedIsWaitedForUntilADeadline) {
    if (const std::string reason = KernelOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    KernelOutside outside;
    const std::string path = outside.pin_path("locked");
    const std::string folder = path.substr(0, path.rfind('/'));
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    const base::UniqueFd held{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_TRUE(held);
    ASSERT_TRUE(base::lock_until(held.get(), folder, base::Deadline::now()));
    const Error late = error_of(outside.host().namespaces.pin(outside.container_ns(), path));
    EXPECT_EQ(late.code, Code::Timeout) << late.message();
}

// A container engine, or a service with a mount namespace of its own, has copies of our pins: one
// that stayed would keep a dead container's namespace.
TEST(Pins, UnpinningReachesOtherMountNamespaces) {
    if (const std::string reason = KernelOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    KernelOutside outside;
    netns::Netnses& room = outside.host().namespaces;
    const std::string path = outside.pin_path("copied");
    ASSERT_TRUE(room.pin(outside.container_ns(), path));
    int to_child[2];
    ASSERT_EQ(::pipe2(to_child, O_CLOEXEC), 0);
    int to_parent[2];
    ASSERT_EQ(::pipe2(to_parent, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        struct statfs fs {};

        char byte = 0;
        const bool copied = ::unshare(CLONE_NEWNS) == 0 && ::statfs(path.c_str(), &fs) == 0 &&
                            fs.f_type == NSFS_MAGIC;
        (void)::write(to_parent[1], "x", 1);
        (void)::read(to_child[0], &byte, 1);
        const bool gone = ::statfs(path.c_str(), &fs) != 0 || fs.f_type != NSFS_MAGIC;
        ::_exit(!copied ? 1 : !gone ? 2 : 0);
    }
    char byte = 0;
    EXPECT_EQ(::read(to_parent[0], &byte, 1), 1);
    EXPECT_TRUE(room.unpin(path));
    EXPECT_EQ(::write(to_child[1], "x", 1), 1);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "1: the child had no copy; 2: the copy stayed";
    for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]})
        (void)::close(fd);
}

}  // namespace
}  // namespace test
