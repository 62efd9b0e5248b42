// SPDX-License-Identifier: Apache-2.0
// The contract of netns/base/confine.h, in processes of their own: there is no way back.
// budget: what must work and what must not are read side by side, and share what runs them.
#include "netns/base/confine.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/file_lock.h"
#include "netns/base/files.h"
#include "netns/base/unique_fd.h"
#include "netns/namespace.h"
#include "netns/sriov.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

constexpr int kNotConfined = 99;

// Runs act() in a process. Returns its exit status, which is 0 if act() returns true; or 128 and
// the number of the signal that killed it.
int fate(const std::function<bool()>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit no_core{};
        (void)::setrlimit(RLIMIT_CORE, &no_core);
        ::_exit(act() ? 0 : 1);
    }
    int raw = 0;
    EXPECT_EQ(::waitpid(child, &raw, 0), child);
    return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

// Of one that confines itself first.
int fate(Profile profile, const std::function<bool()>& act) {
    return fate([&] {
        if (!confine(profile))
            ::_exit(kNotConfined);
        return act();
    });
}

bool opens(int family, int type, int protocol) {
    return static_cast<bool>(UniqueFd{::socket(family, type | SOCK_CLOEXEC, protocol)});
}

std::string status_line(const std::string& name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name + ":"))
            return line.substr(line.find_first_not_of("\t ", name.size() + 1));
    }
    return {};
}

uint64_t capabilities(const std::string& set) {
    return std::stoull(status_line(set), nullptr, 16);
}

class Confined : public testing::Test {
  protected:
    void SetUp() override {
        if (unlisted() == Unlisted::Passes)
            GTEST_SKIP() << "nothing is confined under a sanitizer";
    }

    test::TempDir dir_;
};

// ---- what must work ----------------------------------------------------------------------------

TEST_F(Confined, TheHookKeepsStateAndLocks) {
    EXPECT_EQ(fate(Profile::Hook,
                   [&] {
                       RealFiles files;
                       const std::string path = dir_ / "a";
                       const auto lock = FileLock::acquire(
                           dir_ / "lock", Deadline::in(std::chrono::milliseconds(100)));
                       return lock && files.make_dir(dir_ / "d/e", Access::Readable) &&
                              files.write(path, "1", Access::Readable) && files.read(path, 9) &&
                              files.rename(path, dir_ / "d/b") && files.list(dir_ / "d") &&
                              files.sweep(dir_ / "d") && files.remove_tree(dir_ / "d");
                   }),
              0);
}

TEST_F(Confined, ALockThatIsTakenTimesOut) {
    const auto held = FileLock::acquire(dir_ / "lock", Deadline::now());
    ASSERT_TRUE(held);
    EXPECT_EQ(fate(Profile::Hook,
                   [&] {
                       const auto lock = FileLock::acquire(
                           dir_ / "lock", Deadline::in(std::chrono::milliseconds(300)));
                       return !lock && lock.error().code == Code::Timeout;
                   }),
              0);
}

TEST_F(Confined, TheHookHasItsSockets) {
    EXPECT_EQ(fate(Profile::Hook,
                   [] {
                       return opens(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) &&
                              opens(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC) &&
                              opens(AF_UNIX, SOCK_STREAM, 0) &&
                              opens(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
                   }),
              0);
}

TEST_F(Confined, TheServerHasTcpAndUdp) {
    EXPECT_EQ(fate(Profile::Serve,
                   [] {
                       return opens(AF_INET, SOCK_STREAM, IPPROTO_TCP) &&
                              opens(AF_INET, SOCK_DGRAM, IPPROTO_UDP) &&
                              (opens(AF_INET6, SOCK_STREAM, IPPROTO_TCP) || true);
                   }),
              0);
}

TEST_F(Confined, TheHookHasThreads) {
    EXPECT_EQ(fate(Profile::Hook,
                   [] {
                       int seen = 0;
                       std::thread([&] { seen = 1; }).join();
                       return seen == 1;
                   }),
              0);
}

// The kernel answers, whatever it answers: without privileges it refuses.
TEST_F(Confined, TheHookMakesAndEntersNetworkNamespaces) {
    EXPECT_EQ(fate(Profile::Hook,
                   [] {
                       netns::KernelNetnses rooms;
                       const auto made = rooms.make();
                       return !made || netns::inside(*made, [] { return Result<>{}; });
                   }),
              0);
}

TEST_F(Confined, AnErrorIsPrintedAndThrown) {
    EXPECT_EQ(fate(Profile::Look,
                   [] {
                       try {
                           throw std::runtime_error("x");
                       } catch (const std::exception& e) {
                           std::stringstream text;
                           text << e.what();
                           return text.str() == "x";
                       }
                   }),
              0);
}

// A process that aborts dies of that, and not of the filter.
TEST_F(Confined, AbortIsAbort) {
    EXPECT_EQ(fate(Profile::Look, []() -> bool { ::abort(); }), 128 + SIGABRT);
}

// SECURITY.md's table.
struct Kept {
    const char* name;
    Profile profile;
    std::vector<unsigned> capabilities;
};

void PrintTo(const Kept& kept, std::ostream* out) {
    *out << kept.name;
}

const Kept kKept[] = {
    {"Hook",
     Profile::Hook,
     {CAP_NET_ADMIN,
      CAP_NET_RAW,
      CAP_SYS_ADMIN,
      CAP_SYS_PTRACE,
      CAP_SYS_CHROOT,
      CAP_SYS_RESOURCE,
      CAP_DAC_OVERRIDE,
      CAP_SETUID,
      CAP_SETGID,
      CAP_CHOWN,
      CAP_FOWNER}},
    {"Look", Profile::Look, {CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_OVERRIDE}},
    {"Serve", Profile::Serve, {CAP_IPC_LOCK}},
};

class ConfinedProfile : public Confined, public testing::WithParamInterface<Kept> {};

INSTANTIATE_TEST_SUITE_P(All, ConfinedProfile, testing::ValuesIn(kKept), [](const auto& each) {
    return std::string(each.param.name);
});

// Of what the test itself has, which is all where it is root.
TEST_P(ConfinedProfile, PrivilegesAreGone) {
    uint64_t named = 0;
    for (const unsigned capability : GetParam().capabilities)
        named |= uint64_t{1} << capability;
    const uint64_t permitted = capabilities("CapPrm") & named;
    const uint64_t effective = capabilities("CapEff") & named;
    EXPECT_EQ(fate(GetParam().profile,
                   [&] {
                       return status_line("NoNewPrivs") == "1" &&
                              capabilities("CapPrm") == permitted &&
                              capabilities("CapEff") == effective && capabilities("CapInh") == 0 &&
                              capabilities("CapAmb") == 0;
                   }),
              0);
}

// It listens to the kernel's events of devices, as nothing else does.
TEST_F(Confined, TheHookWaitsForTheRdmaDeviceOfAVf) {
    EXPECT_EQ(fate(Profile::Hook,
                   [] {
                       const auto found = netns::make_kernel_sriov()->wait_for_rdma(
                           "0000:ff:1f.7", Deadline::in(std::chrono::milliseconds(30)));
                       return !found && found.error().code == Code::Timeout;
                   }),
              0);
}

// ---- what must not -----------------------------------------------------------------------------

struct Planted {
    const char* name;
    Profile profile;
    bool (*act)();
};

void PrintTo(const Planted& planted, std::ostream* out) {
    *out << planted.name;
}

bool execute() {
    char* const nothing[] = {nullptr};
    char name[] = "true";
    char* const words[] = {name, nullptr};
    return ::execve("/bin/true", words, nothing) == 0;
}

bool fork_and_wait() {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    return ::waitpid(child, nullptr, 0) == child;
}

bool make_new_code() {
    return ::mmap(nullptr,
                  4096,
                  PROT_READ | PROT_WRITE | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS,
                  -1,
                  0) != nullptr;
}

bool make_map() {
    bpf_attr attr{};
    return ::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr) != 0;
}

bool open_to_write() {
    const UniqueFd fd{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    return static_cast<bool>(fd);
}

bool mount_tmpfs() {
    return ::mount("none", "/nowhere", "tmpfs", 0, nullptr) != 0;
}

bool bind_mount() {
    return ::mount("/nowhere", "/nowhere", "none", MS_BIND, nullptr) != 0;
}

// Nothing but an attack does these.
const Planted kForbidden[] = {
    {"HookExecve", Profile::Hook, execute},
    {"HookFork", Profile::Hook, fork_and_wait},
    {"HookExecveat", Profile::Hook, [] { return ::syscall(SYS_execveat, -1, "", 0, 0, 0) != 0; }},
    {"HookPtrace", Profile::Hook, [] { return ::ptrace(PTRACE_TRACEME, 0, 0, 0) == 0; }},
    {"HookNewUser", Profile::Hook, [] { return ::unshare(CLONE_NEWUSER) <= 0; }},
    {"HookNewMounts", Profile::Hook, [] { return ::unshare(CLONE_NEWNS) <= 0; }},
    {"HookEntersPids", Profile::Hook, [] { return ::setns(-1, CLONE_NEWPID) != 0; }},
    {"HookEntersAnything", Profile::Hook, [] { return ::setns(-1, 0) != 0; }},
    {"HookNewCode", Profile::Hook, make_new_code},
    {"HookMountsTmpfs", Profile::Hook, mount_tmpfs},
    {"HookUnmounts", Profile::Hook, [] { return ::umount2("/nowhere", 0) != 0; }},
    {"HookMakesMap", Profile::Hook, make_map},
    {"HookKills", Profile::Hook, [] { return ::kill(::getpid(), SIGWINCH) == 0; }},
    {"HookLoadsModules", Profile::Hook, [] { return ::syscall(SYS_init_module, 0, 0, "") != 0; }},
    {"LookExecve", Profile::Look, execute},
    {"LookFork", Profile::Look, fork_and_wait},
    {"LookMounts", Profile::Look, bind_mount},
    {"LookEntersMounts", Profile::Look, [] { return ::setns(-1, CLONE_NEWNS) != 0; }},
    {"ServeExecve", Profile::Serve, execute},
    {"ServeFork", Profile::Serve, fork_and_wait},
    {"ServeEntersNetwork", Profile::Serve, [] { return ::setns(-1, CLONE_NEWNET) != 0; }},
    {"ServeMounts", Profile::Serve, bind_mount},
    {"HookSignalsItself",
     Profile::Hook,
     [] { return ::syscall(SYS_tgkill, ::getpid(), ::gettid(), SIGWINCH) == 0; }},
    {"HookAbortsAnother",
     Profile::Hook,
     [] {
         constexpr pid_t kNobody = (1 << 22) + 1;  // above the kernel's greatest
         return ::syscall(SYS_tgkill, kNobody, kNobody, SIGABRT) == -1;
     }},
    {"LookNewCode", Profile::Look, make_new_code},
    {"LookSetsLimits",
     Profile::Look,
     [] {
         const rlimit limit{};
         return ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, nullptr) == 0;
     }},
};

// A mistake, or a newer library, might.
const Planted kUnknown[] = {
    {"HookNetfilter", Profile::Hook, [] { return opens(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER); }},
    {"LookUevents",
     Profile::Look,
     [] { return opens(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT); }},
    {"HookAudit", Profile::Hook, [] { return opens(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT) || true; }},
    {"HookInet6", Profile::Hook, [] { return opens(AF_INET6, SOCK_STREAM, 0) || true; }},
    {"HookTcp", Profile::Hook, [] { return opens(AF_INET, SOCK_STREAM, 0); }},
    {"HookRawIp", Profile::Hook, [] { return opens(AF_INET, SOCK_RAW, IPPROTO_ICMP) || true; }},
    {"HookPing", Profile::Hook, [] { return opens(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) || true; }},
    {"HookVsock", Profile::Hook, [] { return opens(AF_VSOCK, SOCK_STREAM, 0) || true; }},
    {"HookListens", Profile::Hook, [] { return ::listen(-1, 1) != 0; }},
    {"LookWrites", Profile::Look, open_to_write},
    {"LookRemoves", Profile::Look, [] { return ::unlink("/nowhere/a") != 0; }},
    {"LookTcp", Profile::Look, [] { return opens(AF_INET, SOCK_STREAM, 0); }},
    {"LookPackets", Profile::Look, [] { return opens(AF_PACKET, SOCK_RAW, 0) || true; }},
    {"ServePackets", Profile::Serve, [] { return opens(AF_PACKET, SOCK_RAW, 0) || true; }},
    {"LookAsksWhatNoKernelHas", Profile::Look, [] { return ::syscall(600) == -1; }},
    {"HookMakesAFileInMemory",
     Profile::Hook,
     [] { return ::syscall(SYS_memfd_create, "", MFD_CLOEXEC) >= 0; }},
};

class PlantedCall : public testing::TestWithParam<Planted> {
  protected:
    void SetUp() override {
        if (unlisted() == Unlisted::Passes)
            GTEST_SKIP() << "nothing is confined under a sanitizer";
    }
};

class ForbiddenCall : public PlantedCall {};

class UnknownCall : public PlantedCall {};

std::string name_of(const testing::TestParamInfo<Planted>& each) {
    return each.param.name;
}

INSTANTIATE_TEST_SUITE_P(PlantedCall, ForbiddenCall, testing::ValuesIn(kForbidden), name_of);
INSTANTIATE_TEST_SUITE_P(PlantedCall, UnknownCall, testing::ValuesIn(kUnknown), name_of);

TEST_P(ForbiddenCall, IsKilled) {
    const int expected = unlisted() == Unlisted::IsRefused ? 128 + SIGSYS : 0;
    EXPECT_EQ(fate(GetParam().profile, GetParam().act), expected);
}

TEST_P(UnknownCall, IsRefusedAndTheProcessGoesOn) {
    EXPECT_EQ(fate(GetParam().profile,
                   [] {
                       errno = 0;
                       const bool made = GetParam().act();
                       return unlisted() == Unlisted::IsRefused ? errno == ENOSYS : made;
                   }),
              0);
}

// A line of output, at the first of which the C library asks whether stdout is a terminal: glibc
// from 2.42 on by a request of its own.
TEST_F(Confined, AskingForATerminalIsAnswered) {
    for (const unsigned long request :
         {0x5401UL, 0x802c542aUL, 0x5413UL}) {  // TCGETS, TCGETS2, TIOCGWINSZ
        EXPECT_EQ(fate(Profile::Look,
                       [&] {
                           char settings[64];
                           const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
                           return ::ioctl(null.get(), request, settings) == -1 && errno == ENOTTY;
                       }),
                  0);
    }
}

TEST_F(Confined, AnErrorSaysWhereToLook) {
    EXPECT_EQ(fate(Profile::Look,
                   [] {
                       if (unlisted() == Unlisted::IsLogged)
                           return true;
                       const int done = ::unlink("/nowhere/a");
                       const std::string text = sys_error("remove /nowhere/a").message();
                       return done != 0 && text.find("type=1326") != std::string::npos;
                   }),
              0);
}

TEST_F(Confined, AnotherThreadIsConfinedToo) {
    const int expected = unlisted() == Unlisted::IsRefused ? 128 + SIGSYS : 0;
    EXPECT_EQ(fate(Profile::Serve,
                   [] {
                       bool done = false;
                       std::thread([&] { done = fork_and_wait(); }).join();
                       return done;
                   }),
              expected);
}

// ---- surroundings -------------------------------------------------------------------------------

mode_t mode_of(const std::string& path) {
    struct stat about {};

    return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
}

// Whatever umask whoever started us had.
TEST(CleanSurroundings, NoEnvironmentIsLeftAndNoFileIsForOthersToWrite) {
    for (const mode_t before : {0U, 0777U}) {
        const test::TempDir dir;
        const std::string file = dir / "file";
        const std::string folder = dir / "folder";
        EXPECT_EQ(fate([&] {
                      ::umask(before);
                      if (::setenv("LD_PRELOAD", "/nowhere/a.so", 1) != 0)
                          return false;
                      clean_surroundings();
                      const UniqueFd fd{::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)};
                      return (environ == nullptr || *environ == nullptr) &&
                             std::getenv("PATH") == nullptr &&
                             std::getenv("LD_PRELOAD") == nullptr && fd &&
                             ::mkdir(folder.c_str(), 0777) == 0;
                  }),
                  0);
        EXPECT_EQ(mode_of(file), 0644U);
        EXPECT_EQ(mode_of(folder), 0755U);
    }
}

// ---- a confined process beside us --------------------------------------------------------------

TEST(RunApart, TheOutcomeComesBack) {
    EXPECT_TRUE(run_apart(Profile::Hook, [] { return Result<>{}; }));
    const auto failed = run_apart(Profile::Hook, []() -> Result<> {
        Error error = make_error(Code::Busy, "taken \xff \"").in("inner").in("outer");
        error.sys = EBUSY;
        error.extack = "the kernel says";
        error.fix = "wait";
        error.also.push_back(make_error(Code::Timeout, "late"));
        return error;
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::Busy);
    EXPECT_EQ(failed.error().sys, EBUSY);
    EXPECT_EQ(failed.error().context, (std::vector<std::string>{"inner", "outer"}));
    EXPECT_EQ(failed.error().extack, "the kernel says");
    EXPECT_EQ(failed.error().fix, "wait");
    ASSERT_EQ(failed.error().also.size(), 1U);
    EXPECT_EQ(failed.error().also[0].code, Code::Timeout);
}

TEST(RunApart, ItHasCleanSurroundings) {
    ASSERT_EQ(::setenv("RDMA_TEST_PLANTED", "1", 1), 0);
    const auto clean = run_apart(Profile::Hook, []() -> Result<> {
        if (std::getenv("RDMA_TEST_PLANTED") != nullptr || ::umask(022) != 022)
            return make_error(Code::Internal, "surroundings are left");
        return {};
    });
    EXPECT_TRUE(clean) << clean.error().message();
    EXPECT_NE(std::getenv("RDMA_TEST_PLANTED"), nullptr) << "ours are as they were";
    ASSERT_EQ(::unsetenv("RDMA_TEST_PLANTED"), 0);
}

TEST(RunApart, AnExceptionIsABug) {
    const auto failed =
        run_apart(Profile::Hook, []() -> Result<> { throw std::runtime_error("something"); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::Internal);
    EXPECT_NE(failed.error().message().find("something"), std::string::npos);
}

TEST(RunApart, ADeathIsAnError) {
    const auto killed = run_apart(Profile::Hook, []() -> Result<> { ::abort(); });
    ASSERT_FALSE(killed);
    EXPECT_NE(killed.error().message().find("killed by signal 6"), std::string::npos);
    if (unlisted() != Unlisted::IsRefused)
        return;
    const auto planted = run_apart(Profile::Hook, []() -> Result<> {
        (void)execute();
        return {};
    });
    ASSERT_FALSE(planted);
    EXPECT_NE(planted.error().message().find("forbidden to it"), std::string::npos);
}

// A note to an engine that has closed its end of the pipe is no reason to die half way.
TEST(RunApart, ANoteThatNobodyReadsIsNoDeath) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd write{ends[1]};
    ::close(ends[0]);
    const auto done = run_apart(Profile::Hook, [&]() -> Result<> {
        if (::write(write.get(), "a note\n", 7) != -1 || errno != EPIPE)
            return make_error(Code::Internal, "somebody reads it");
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
}

TEST(RunApart, WhoCalledIsNotConfined) {
    ASSERT_TRUE(run_apart(Profile::Look, [] { return Result<>{}; }));
    EXPECT_TRUE(fork_and_wait());
}

}  // namespace
}  // namespace base
