// SPDX-License-Identifier: Apache-2.0
#include "netns/launch.h"

#include <cerrno>
#include <optional>
#include <utility>

#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "netns/base/child.h"
#include "netns/base/owned_file.h"

namespace netns {

namespace {
constexpr size_t kChunk = 16384;

// Mounts sysfs as `ip netns exec` does: it shows the network namespace in which it was mounted.
const char* mount_own_sysfs() {
    if (::unshare(CLONE_NEWNS) != 0)
        return "make a mount namespace for";
    if (::mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) != 0)
        return "make mounts private for";
    const auto flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
    // EBUSY: the present mount is already this namespace's.
    if (::mount("sysfs", "/sys", "sysfs", flags, nullptr) != 0 && errno != EBUSY)
        return "mount /sys for";
    return nullptr;
}

// Gives up the capabilities permanently: the exec would give root all that is in the bounding set.
const char* give_up_capabilities() {
    for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each) {
        if (each != CAP_IPC_LOCK && ::prctl(PR_CAPBSET_DROP, each, 0, 0, 0) != 0)
            return "give up capabilities for";
    }
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? nullptr : "set no_new_privs for";
}

const char* prepare_program() {
    const char* failed = mount_own_sysfs();
    return failed != nullptr ? failed : give_up_capabilities();
}

class KernelPrograms : public Programs {
  public:
    Result<std::string> beside_us(const std::string& name) override {
        std::string self(4096, '\0');
        const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
        if (length <= 0)
            return sys_error("read /proc/self/exe");
        self.resize(static_cast<size_t>(length));
        return base::find_owned_program(self.substr(0, self.rfind('/') + 1) + name, base::Owned{})
            .advise("install " + name + " beside the program");
    }

    Result<size_t> start(const Netns& ns, const Program& program) override {
        running_.push_back(TRY(base::Child::start(
            {.path = program.path,
             .arguments = program.arguments,
             .environment = program.environment,
             .prepare = prepare_program,
             .around = [&](const std::function<Result<>()>& fork) { return inside(ns, fork); }})));
        return running_.size() - 1;
    }

    Result<ProgramEvent> next(Deadline deadline) override {
        for (;;) {
            auto waits = what_to_wait_for();
            if (waits.fds.empty())
                return make_error(Code::Internal, "no program runs");
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
                break;  // a stream has ended: the set of descriptors has changed
            }
        }
    }

    void kill(size_t program) override {
        base::Child& child = running_.at(program);
        if (child.is_reaped())
            return;
        child.kill();
        (void)child.reap();
    }

  private:
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

    // All streams come before all ends: a program's output precedes its end.
    [[nodiscard]] Waits what_to_wait_for() const {
        Waits waits;
        for (size_t i = 0; i < running_.size(); ++i) {
            waits.add(running_[i].out(), i);
            waits.add(running_[i].err(), i);
        }
        for (size_t i = 0; i < running_.size(); ++i)
            waits.add(running_[i].life(), i);
        return waits;
    }

    // Returns the event of a ready descriptor; nothing if it was the end of a stream.
    Result<std::optional<ProgramEvent>> look(size_t program, int fd) {
        base::Child& child = running_[program];
        if (fd == child.life().get()) {
            const int status = child.reap();
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
        UniqueFd& stream = fd == child.err().get() ? child.err() : child.out();
        const bool to_stderr = &stream == &child.err();
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

    std::vector<base::Child> running_;
};
}  // namespace

std::unique_ptr<Programs> make_kernel_programs() {
    return std::make_unique<KernelPrograms>();
}

}  // namespace netns
