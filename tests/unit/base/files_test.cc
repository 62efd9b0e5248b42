// SPDX-License-Identifier: Apache-2.0
#include "netns/base/files.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/file_lock.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {
TEST(Files, WritesAtomicallyAndPrivately) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.write(dir / "a", "one"));
    ASSERT_TRUE(files.write(dir / "a", "two"));
    EXPECT_EQ(*files.read(dir / "a", 10), "two");

    struct stat st {};

    ASSERT_EQ(::stat((dir / "a").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0600U);
    ASSERT_TRUE(files.write(dir / "a", "three", Access::Readable));
    ASSERT_EQ(::stat((dir / "a").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0644U);
    EXPECT_EQ(*files.list(dir.path()), std::vector<std::string>{"a"});
}

TEST(Files, CreateNeverReplaces) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.create(dir / "lease", "mine"));
    const auto second = files.create(dir / "lease", "theirs");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::Busy);
    EXPECT_EQ(*files.read(dir / "lease", 10), "mine");
    EXPECT_EQ(files.list(dir.path())->size(), 1U);
}

TEST(Files, ReadsAreBoundedAndFollowNoLink) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.write(dir / "big", std::string(100, 'x')));
    EXPECT_EQ(files.read(dir / "big", 99).error().code, Code::BadInput);
    EXPECT_TRUE(files.read(dir / "big", 100));
    std::filesystem::create_symlink(dir / "big", dir / "link");
    EXPECT_EQ(files.read(dir / "link", 100).error().sys, ELOOP);
    EXPECT_TRUE(is_missing(files.read(dir / "none", 1).error()));
}

TEST(Files, WhatADeadWriterLeftIsSweptAndNothingElse) {
    const test::TempDir dir;
    RealFiles files;
    const std::string left = dir / "a.json.tmp.2147483647";  // above the kernel's greatest pid
    const std::vector<std::string> kept{"a.json",
                                        "a.json.tmp." + std::to_string(::getpid()),
                                        "a.json.tmp.",
                                        "a.json.tmp.0",
                                        "a.json.tmp.-1",
                                        "a.json.tmp.1x"};
    ASSERT_TRUE(files.write(left, "{"));
    for (const std::string& name : kept)
        ASSERT_TRUE(files.write(dir / name, "{"));
    EXPECT_EQ(*files.sweep(dir.path()), std::vector<std::string>{left});
    for (const std::string& name : kept)
        EXPECT_TRUE(files.read(dir / name, 10)) << name;
    EXPECT_FALSE(files.sweep(dir / "none"));
}

TEST(Files, RemoveAndRenameAreIdempotentWhereTheyCanBe) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.make_dir(dir / "x/y"));
    ASSERT_TRUE(files.make_dir(dir / "x/y"));
    ASSERT_TRUE(files.write(dir / "a", "1"));
    ASSERT_TRUE(files.rename(dir / "a", dir / "x/y/b"));
    EXPECT_TRUE(is_missing(files.rename(dir / "a", dir / "x/y/b").error()));
    ASSERT_TRUE(files.remove(dir / "x/y/b"));
    EXPECT_TRUE(files.remove(dir / "x/y/b"));
}

TEST(Files, RefusesAFolderThatOthersCanWrite) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.make_dir(dir / "d"));
    ASSERT_EQ(::chmod((dir / "d").c_str(), 0777), 0);
    EXPECT_EQ(files.make_dir(dir / "d").error().code, Code::Refused);
}

TEST(Files, AReadableFolderIsSoWhateverTheUmask) {
    const test::TempDir dir;
    RealFiles files;
    const mode_t before = ::umask(0077);
    const auto made = files.make_dir(dir / "d", Access::Readable);
    ::umask(before);
    ASSERT_TRUE(made);

    struct stat st {};

    ASSERT_EQ(::stat((dir / "d").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0755U);
}

TEST(Files, RemoveTreeTakesAFolderAndFollowsNoLink) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.make_dir(dir / "outside"));
    ASSERT_TRUE(files.write(dir / "outside/kept", "1"));
    ASSERT_TRUE(files.make_dir(dir / "tree/below"));
    ASSERT_TRUE(files.write(dir / "tree/below/a", "1"));
    ASSERT_TRUE(files.make_link(dir / "tree/link", dir / "outside"));
    EXPECT_EQ(files.make_link(dir / "tree/link", "x").error().code, Code::Busy);
    ASSERT_TRUE(files.remove_tree(dir / "tree"));
    EXPECT_EQ(*files.list(dir.path()), std::vector<std::string>{"outside"});
    EXPECT_EQ(*files.list(dir / "outside"), std::vector<std::string>{"kept"});
    EXPECT_TRUE(files.remove_tree(dir / "tree"));
}

TEST(Files, RemoveTreeTakesALinkForItselfAndStopsAtADepthThatIsNotOurs) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.make_dir(dir / "outside/below"));
    ASSERT_TRUE(files.make_link(dir / "link", dir / "outside"));
    ASSERT_TRUE(files.remove_tree(dir / "link"));
    EXPECT_EQ(*files.list(dir.path()), std::vector<std::string>{"outside"});
    std::string deep = dir / "outside";
    for (int level = 0; level < 20; ++level)
        deep += "/deep";
    ASSERT_TRUE(files.make_dir(deep));
    EXPECT_EQ(files.remove_tree(dir / "outside").error().code, Code::BadInput);
}

TEST(Files, ListsMoreThanOneBufferOfNames) {
    const test::TempDir dir;
    RealFiles files;
    std::vector<std::string> names;
    for (int number = 1000; number < 1600; ++number) {
        names.push_back("a-name-of-some-length-" + std::to_string(number));
        ASSERT_TRUE(files.write(dir / names.back(), ""));
    }
    EXPECT_EQ(*files.list(dir.path()), names);
}

TEST(Files, ReadsAFileOfSeveralBuffersAndNoMoreThanTheLimit) {
    const test::TempDir dir;
    RealFiles files;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{16384}, size_t{16385}, size_t{40000}}) {
        const std::string content(size, 'x');
        ASSERT_TRUE(files.write(dir / "file", content));
        EXPECT_EQ(*files.read(dir / "file", 40000), content);
    }
    EXPECT_EQ(files.read(dir / "file", 39999).error().code, Code::BadInput);
}

TEST(FileLock, WaitsUntilTheDeadlineAndNoLonger) {
    const test::TempDir dir;
    auto first = FileLock::acquire(dir / "lock", Deadline::in(std::chrono::seconds(1)));
    ASSERT_TRUE(first);
    EXPECT_EQ(FileLock::acquire(dir / "lock", Deadline::now()).error().code, Code::Busy);
    const auto begin = Deadline::Clock::now();
    const auto second =
        FileLock::acquire(dir / "lock", Deadline::in(std::chrono::milliseconds(60)));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::Timeout);
    EXPECT_GE(Deadline::Clock::now() - begin, std::chrono::milliseconds(60));
    { const auto gone = std::move(*first); }
    EXPECT_TRUE(FileLock::acquire(dir / "lock", Deadline::now()));
}

TEST(FileLock, TheFileGoesWithItsHolder) {
    const test::TempDir dir;
    {
        auto first = FileLock::acquire(dir / "a", Deadline::now());
        auto second = FileLock::acquire(dir / "b", Deadline::now());
        ASSERT_TRUE(first && second);
        EXPECT_EQ(RealFiles{}.list(dir.path())->size(), 2U);
        *first = std::move(*second);
        EXPECT_EQ(FileLock::acquire(dir / "b", Deadline::now()).error().code, Code::Busy);
    }
    EXPECT_TRUE(RealFiles{}.list(dir.path())->empty());
}

// To undo something no file has to be made.
TEST(FileLock, TheFileStaysWhileWhatItGuardsIsThere) {
    const test::TempDir dir;
    RealFiles files;
    ASSERT_TRUE(files.make_dir(dir / "locks"));
    ASSERT_TRUE(files.write(dir / "record", "1"));
    const auto hold = [&] {
        return FileLock::acquire(dir / "locks/a", Deadline::now(), {dir / "other", dir / "record"});
    };
    ASSERT_TRUE(hold());
    EXPECT_EQ(files.list(dir / "locks")->size(), 1U);
    {
        const auto lock = hold();
        ASSERT_TRUE(lock && files.remove(dir / "record"));
    }
    EXPECT_TRUE(files.list(dir / "locks")->empty());
}

// Somebody cleared the folder by hand: the file of that name is another holder's by now.
TEST(FileLock, AFileThatIsAnothersIsNotRemoved) {
    const test::TempDir dir;
    auto first = FileLock::acquire(dir / "lock", Deadline::now());
    ASSERT_TRUE(first);
    ASSERT_TRUE(RealFiles{}.remove(dir / "lock"));
    const auto second = FileLock::acquire(dir / "lock", Deadline::now());
    ASSERT_TRUE(second);
    { const auto gone = std::move(*first); }
    EXPECT_EQ(FileLock::acquire(dir / "lock", Deadline::now()).error().code, Code::Busy);
}

// Each process that waited meets a file that is gone, and takes the next one: never two at once.
TEST(FileLock, ManyHoldersAreNeverTwoAtOnce) {
    constexpr int kProcesses = 8;
    constexpr int kRounds = 200;
    const test::TempDir dir;
    RealFiles files;
    const auto work = [&] {
        for (int round = 0; round < kRounds; ++round) {
            const auto lock =
                FileLock::acquire(dir / "lock", Deadline::in(std::chrono::seconds(60)));
            if (!lock || !files.create(dir / "inside", "") || !files.remove(dir / "inside"))
                return 1;
        }
        return 0;
    };
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
        children.push_back(::fork());
        if (children.back() == 0)
            ::_exit(work());
    }
    for (const pid_t child : children) {
        int status = 1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(files.list(dir.path())->empty());
}

TEST(FileLock, WhatStaysIsLockedWithADeadlineToo) {
    const test::TempDir dir;
    const UniqueFd first{::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const UniqueFd second{::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_TRUE(lock_until(first.get(), dir.path(), Deadline::now()));
    const auto kept =
        lock_until(second.get(), dir.path(), Deadline::in(std::chrono::milliseconds(30)));
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, Code::Timeout);
    EXPECT_NE(kept.error().message().find("fuser " + dir.path()), std::string::npos);
}
}  // namespace
}  // namespace base
