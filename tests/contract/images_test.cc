// SPDX-License-Identifier: Apache-2.0
// netns/image.h against this machine's kernel, as root: file systems that are mounted for it.
#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/image.h"
#include "tests/support/temp_dir.h"

namespace test {
namespace {

using netns::ImageRoot;

// Runs the check in a child with mounts of its own, on a tmpfs at `path` that has a folder with
// another tmpfs.
template <typename Check>
int with_mounts(const std::string& path, const Check& check) {
    constexpr int kNoMounts = 77;
    const pid_t child = ::fork();
    if (child == 0) {
        const bool made = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount("", "/", "none", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount("tmpfs", path.c_str(), "tmpfs", 0, nullptr) == 0 &&
                          ::mkdir((path + "/other").c_str(), 0755) == 0 &&
                          ::mount("tmpfs", (path + "/other").c_str(), "tmpfs", 0, nullptr) == 0;
        ::_exit(!made ? kNoMounts : check() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Images, KnowAFileSystemOnWhichNothingCanBeMade) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "mounts need root";
    const TempDir dir;
    const int status = with_mounts(dir.path(), [&] {
        if (ImageRoot::open(dir.path()).value().is_read_only().value())
            return false;
        return ::mount("", dir.path().c_str(), "none", MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) ==
                   0 &&
               ImageRoot::open(dir.path()).value().is_read_only().value();
    });
    if (status == 77)
        GTEST_SKIP() << "no mount namespace can be made";
    EXPECT_EQ(status, 0);
}

TEST(Images, HaveNothingOfWhatIsMountedInThem) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "mounts need root";
    const TempDir dir;
    const int status = with_mounts(dir.path(), [&] {
        std::ofstream(dir / "other/file") << "x";
        const auto root = ImageRoot::open(dir.path()).value();
        return root.look("/other/file").error().code == base::Code::Refused &&
               root.look("/other").error().code == base::Code::Refused &&
               root.look("/none").value() == netns::ImageEntry::Missing;
    });
    if (status == 77)
        GTEST_SKIP() << "no mount namespace can be made";
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace test
