// SPDX-License-Identifier: Apache-2.0
#include "netns/launch.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/files.h"

namespace netns {

using base::Code;
using base::Deadline;
using base::make_error;
using base::sys_error;
using base::UniqueFd;

namespace {
constexpr int kFirstOther = 3;  // after the standard descriptors
constexpr size_t kChunk = 16384;

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

// A copy that is none of the standard descriptors, whatever of them we were started without.
Result<UniqueFd> away_from_standard(UniqueFd fd) {
    if (fd.get() >= kFirstOther)
        return fd;
    UniqueFd copy{::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstOther)};
    if (!copy)
        return sys_error("copy a descriptor");
    return copy;
}

Result<Pipe> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys_error("make a pipe");
    UniqueFd read{ends[0]};
    UniqueFd write{ends[1]};
    Pipe pipe;
    pipe.read = TRY(away_from_standard(std::move(read)));
    pipe.write = TRY(away_from_standard(std::move(write)));
    return pipe;
}

// What the child tells when it cannot become the program.
struct Trouble {
    char step[32];
    int number;
};

// All that the child needs, made before the fork: afterwards it may not allocate.
struct Birth {
    const char* path;
    char* const* arguments;
    char* const* environment;
    int null;
    int out;
    int err;
    int report;
    pid_t parent;
};

[[noreturn]] void give_up(const Birth& birth, const char* step) {
    Trouble trouble{.step = {}, .number = errno};
    std::strncpy(trouble.step, step, sizeof trouble.step - 1);
    // Nobody else is left to be told.
    (void)!::write(birth.report, &trouble, sizeof trouble);
    ::_exit(127);
}

// As `ip netns exec` does: sysfs shows the network namespace in which it was mounted.
void mount_own_sysfs(const Birth& birth) {
    if (::unshare(CLONE_NEWNS) != 0)
        give_up(birth, "make a mount namespace");
    if (::mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) != 0)
        give_up(birth, "make mounts private");
    const auto flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
    // EBUSY: the one that is mounted there is already this namespace's.
    if (::mount("sysfs", "/sys", "sysfs", flags, nullptr) != 0 && errno != EBUSY)
        give_up(birth, "mount /sys");
}

[[noreturn]] void become(const Birth& birth) {
    sigset_t none;
    ::sigemptyset(&none);
    if (::setpgid(0, 0) != 0 || ::sigprocmask(SIG_SETMASK, &none, nullptr) != 0)
        give_up(birth, "lead a process group");
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        give_up(birth, "be killed with the parent");
    if (::getppid() != birth.parent)  // it died before the line above
        ::_exit(127);
    mount_own_sysfs(birth);
    if (::dup2(birth.null, STDIN_FILENO) < 0 || ::dup2(birth.out, STDOUT_FILENO) < 0 ||
        ::dup2(birth.err, STDERR_FILENO) < 0)
        give_up(birth, "redirect output");
    // Ours are close-on-exec; those that we inherited ourselves need not be.
    if (::close_range(kFirstOther, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        give_up(birth, "close descriptors");
    ::execve(birth.path, birth.arguments, birth.environment);
    give_up(birth, "run");
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words)
        out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

// Waits until the child has become the program, or says why it could not.
Result<> await_exec(const UniqueFd& report, const std::string& path) {
    Trouble trouble{};
    ssize_t got = -1;
    do {
        got = ::read(report.get(), &trouble, sizeof trouble);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        return {};
    if (got != sizeof trouble)
        return sys_error("start " + path);
    return sys_error(trouble.number, std::string(trouble.step) + " for " + path);
}

int shell_status(int raw) {
    constexpr int kSignalled = 128;
    return WIFSIGNALED(raw) ? kSignalled + WTERMSIG(raw) : WEXITSTATUS(raw);
}

Result<> check_only_root_writes(const std::string& path) {
    struct stat st {};

    if (::stat(path.c_str(), &st) != 0) {
        base::Error error = sys_error("examine " + path);
        if (error.sys == ENOENT)
            error.code = Code::Unavailable;
        return error;
    }
    const bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0;
    if (st.st_uid != 0 || ((st.st_mode & 0022U) != 0 && !sticky))
        return make_error(Code::Refused, path + " can be written by others than root")
            .advise("run: chown root " + path + " && chmod go-w " + path);
    return {};
}

class KernelPrograms : public Programs {
  public:
    KernelPrograms() = default;

    ~KernelPrograms() override {
        for (size_t i = 0; i < running_.size(); ++i)
            KernelPrograms::kill(i);
    }

    KernelPrograms(const KernelPrograms&) = delete;
    KernelPrograms& operator=(const KernelPrograms&) = delete;
    KernelPrograms(KernelPrograms&&) = delete;
    KernelPrograms& operator=(KernelPrograms&&) = delete;

    Result<std::string> beside_us(const std::string& name) override {
        std::string self(4096, '\0');
        const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
        if (length <= 0)
            return sys_error("read /proc/self/exe");
        self.resize(static_cast<size_t>(length));
        const std::string path = self.substr(0, self.rfind('/') + 1) + name;
        // The kernel gave the path of the folder without symbolic links.
        for (size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1))
            TRY(check_only_root_writes(slash == 0 ? "/" : path.substr(0, slash)));
        TRY(check_only_root_writes(path).advise("install " + name + " beside the program"));
        return path;
    }

    Result<size_t> start(const Netns& ns, const Program& program) override {
        std::vector<std::string> words = program.arguments;
        words.insert(words.begin(), program.path);
        std::vector<std::string> environment = program.environment;
        const auto argv = pointers(words);
        const auto envp = pointers(environment);
        Pipe out = TRY(make_pipe());
        Pipe err = TRY(make_pipe());
        Pipe report = TRY(make_pipe());
        const UniqueFd null =
            TRY(away_from_standard(UniqueFd{::open("/dev/null", O_RDWR | O_CLOEXEC)}));
        const Birth birth{.path = words.front().c_str(),
                          .arguments = argv.data(),
                          .environment = envp.data(),
                          .null = null.get(),
                          .out = out.write.get(),
                          .err = err.write.get(),
                          .report = report.write.get(),
                          .parent = ::getpid()};
        Running child;
        TRY(inside(ns, [&]() -> Result<> {
            child.pid = ::fork();
            if (child.pid == 0)
                become(birth);
            return child.pid < 0 ? Result<>(sys_error("fork")) : Result<>();
        }));
        report.write.reset();
        child.out = std::move(out.read);
        child.err = std::move(err.read);
        child.life.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
        const bool followed = static_cast<bool>(child.life);
        const base::Error no_pidfd = sys_error("open a pidfd");
        running_.push_back(std::move(child));
        auto born = await_exec(report.read, program.path);
        if (born && !followed)
            born = no_pidfd;
        if (!born) {
            KernelPrograms::kill(running_.size() - 1);
            return std::move(born).error();
        }
        return running_.size() - 1;
    }

    Result<ProgramEvent> next(Deadline deadline) override {
        for (;;) {
            auto waits = what_to_wait_for();
            if (waits.fds.empty())
                return make_error(Code::Unavailable, "no program runs");
            const int ready = ::poll(waits.fds.data(), waits.fds.size(), deadline.left_ms());
            if (ready < 0 && errno != EINTR)
                return sys_error("poll");
            if (ready == 0 && deadline.passed())
                return make_error(Code::Timeout, "the deadline passed");
            for (size_t i = 0; ready > 0 && i < waits.fds.size(); ++i) {
                if (waits.fds[i].revents == 0)
                    continue;
                if (auto event = TRY(look(waits.whose[i], waits.fds[i].fd)))
                    return *std::move(event);
                break;  // a stream has ended: the set of descriptors is another one
            }
        }
    }

    void kill(size_t program) override {
        Running& child = running_.at(program);
        if (child.pid <= 0)
            return;
        // Not reaped yet, so neither number can belong to anybody else. The group may not be there
        // yet if the child never got so far.
        (void)::kill(-child.pid, SIGKILL);
        (void)::kill(child.pid, SIGKILL);
        (void)reap(child);
    }

  private:
    struct Running {
        pid_t pid = 0;  // 0: reaped
        UniqueFd out;
        UniqueFd err;
        UniqueFd life;  // pidfd: readable once it has ended
    };

    struct Waits {
        std::vector<pollfd> fds;
        std::vector<size_t> whose;

        void add(const UniqueFd& fd, size_t program) {
            if (!fd)
                return;
            fds.push_back({fd.get(), POLLIN, 0});
            whose.push_back(program);
        }
    };

    // All streams before all ends: what was written comes before the end of its writer.
    [[nodiscard]] Waits what_to_wait_for() const {
        Waits waits;
        for (size_t i = 0; i < running_.size(); ++i) {
            waits.add(running_[i].out, i);
            waits.add(running_[i].err, i);
        }
        for (size_t i = 0; i < running_.size(); ++i)
            waits.add(running_[i].life, i);
        return waits;
    }

    // The event of a descriptor that is ready; nothing if it was the end of a stream.
    Result<std::optional<ProgramEvent>> look(size_t program, int fd) {
        Running& child = running_[program];
        if (fd == child.life.get()) {
            const int status = reap(child);
            return std::optional(ProgramEvent{.program = program,
                                              .ended = true,
                                              .to_stderr = false,
                                              .text = {},
                                              .status = status});
        }
        std::string text(kChunk, '\0');
        const ssize_t got = ::read(fd, text.data(), text.size());
        if (got < 0 && errno != EINTR)
            return sys_error("read the output of a program");
        UniqueFd& stream = fd == child.err.get() ? child.err : child.out;
        const bool to_stderr = &stream == &child.err;
        if (got <= 0) {
            if (got == 0)
                stream.reset();
            return std::optional<ProgramEvent>{};
        }
        text.resize(static_cast<size_t>(got));
        return std::optional(ProgramEvent{.program = program,
                                          .ended = false,
                                          .to_stderr = to_stderr,
                                          .text = std::move(text),
                                          .status = 0});
    }

    static int reap(Running& child) {
        int raw = 0;
        while (::waitpid(child.pid, &raw, 0) < 0 && errno == EINTR) {
        }
        child.pid = 0;
        child.out.reset();
        child.err.reset();
        child.life.reset();
        return shell_status(raw);
    }

    std::vector<Running> running_;
};
}  // namespace

std::unique_ptr<Programs> make_kernel_programs() {
    return std::make_unique<KernelPrograms>();
}

}  // namespace netns
