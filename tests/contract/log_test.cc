// SPDX-License-Identifier: Apache-2.0
// The log against a socket of journald's kind: what arrives there, and what goes there because its
// file cannot be opened.
#include "netns/base/log.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/unique_fd.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

constexpr char kSocket[] = "/run/systemd/journal/socket";

// In a mount namespace of this process alone.
base::UniqueFd make_journal() {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", "none", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/run", "tmpfs", 0, nullptr) != 0 || ::mkdir("/run/systemd", 0755) != 0 ||
        ::mkdir("/run/systemd/journal", 0755) != 0)
        return {};
    base::UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, kSocket, sizeof address.sun_path - 1);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return {};
    return fd;
}

// Returns whether the next datagram has all these lines.
bool has_next(const base::UniqueFd& journal, std::initializer_list<const char*> lines) {
    std::array<char, 4096> room{};
    const ssize_t size = ::recv(journal.get(), room.data(), room.size(), 0);
    const std::string text = "\n" + std::string(room.data(), size < 0 ? 0 : size_t(size));
    for (const char* line : lines) {
        if (text.find(std::string("\n") + line) == std::string::npos)
            return false;
    }
    return true;
}

int log_to_journal() {
    const base::UniqueFd journal = make_journal();
    if (!journal)
        return 1;
    base::log::open(
        {.file = "/run/nowhere/log", .level = base::log::Level::Warning, .program = "p"});
    if (!has_next(journal,
                  {"MESSAGE=open the log /run/nowhere/log, which the journal has now: ",
                   "PRIORITY=4\n",
                   "SYSLOG_IDENTIFIER=p\n"}))
        return 2;
    base::log::audit("detach", "c1", {{"users", "0"}});
    if (!has_next(journal,
                  {"MESSAGE=event=detach users=0\n",
                   "PRIORITY=5\n",
                   "RDMA_CONTAINER=c1\n",
                   "RDMA_EVENT=detach\n"}))
        return 3;
    base::log::open({.file = {}, .level = base::log::Level::Warning, .program = "p"});
    base::log::info("too low");
    base::log::set_container("c2");
    base::log::error("two\nlines");
    return has_next(journal, {"MESSAGE=two\\x0alines\n", "PRIORITY=3\n", "RDMA_CONTAINER=c2\n"})
               ? 0
               : 4;
}

TEST(LogContract, TheJournalHasWhatTheFileCannot) {
    if (const std::string reason = KernelOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(log_to_journal());
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the step that failed";
}

}  // namespace
}  // namespace test
