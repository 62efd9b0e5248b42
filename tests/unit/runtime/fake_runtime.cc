// SPDX-License-Identifier: Apache-2.0
// A low-level runtime that does what its second word says, for the tests of how it is called.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "status")
        return std::atoi(argv[2]);
    if (what == "die")
        return ::raise(std::atoi(argv[2]));
    if (what == "words") {  // each word on a line of descriptor 1
        for (int i = 0; i < argc; ++i)
            std::puts(argv[i]);
        return std::fflush(stdout);
    }
    if (what == "descriptor")  // whether it is open
        return ::fcntl(std::atoi(argv[2]), F_GETFD) >= 0 ? 0 : 1;
    if (what == "listen") {  // whether LISTEN_PID is us
        const char* named = std::getenv("LISTEN_PID");
        return named != nullptr && std::to_string(::getpid()) == named ? 0 : 1;
    }
    if (what == "caller") {  // whether it is our parent
        const char* named = std::getenv("RDMA_RUNTIME_CALLER");
        return named != nullptr && std::to_string(::getppid()) == named ? 0 : 1;
    }
    if (what == "blocked") {  // whether the signal is
        sigset_t set;
        ::sigprocmask(SIG_SETMASK, nullptr, &set);
        return ::sigismember(&set, std::atoi(argv[2]));
    }
    if (what == "signal") {  // says that it is there, and waits for the signal
        sigset_t set;
        ::sigemptyset(&set);
        ::sigaddset(&set, std::atoi(argv[2]));
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
        (void)!::write(1, "r", 1);
        const timespec limit{.tv_sec = 30, .tv_nsec = 0};
        return ::sigtimedwait(&set, nullptr, &limit) == std::atoi(argv[2]) ? 42 : 1;
    }
    return 99;
}
