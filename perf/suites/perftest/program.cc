// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/program.h"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf/suites/perftest/output.h"

namespace perf::perftest {

using base::Code;
using base::Deadline;
using base::make_error;
using base::Result;
using base::sys_error;
using base::UniqueFd;

namespace {
Result<std::string> find(const Folders& folders, const std::string& name) {
    for (const std::string& folder : folders) {
        const std::string path = folder + "/" + name;

        struct stat st {};

        if (::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
            ::access(path.c_str(), X_OK) == 0)
            return path;
    }
    return make_error(Code::Unsupported,
                      fmt::format("there is no {} in {}", name, fmt::join(folders, " or ")))
        .advise("install the package perftest");
}

// Appends what there is; false at the end.
Result<bool> read_some(const UniqueFd& fd, std::string& text, const std::string& name) {
    std::array<char, 4096> chunk{};
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0)
        return errno == EINTR ? Result<bool>(true) : sys_error("read from " + name);
    text.append(chunk.data(), static_cast<size_t>(got));
    if (text.size() > kMaxOutput)
        return make_error(Code::Unsupported,
                          name + " printed more than " + std::to_string(kMaxOutput) + " bytes");
    return got != 0;
}
}  // namespace

Result<Program> Program::start(const Folders& folders,
                               const std::string& name,
                               const std::vector<std::string>& arguments) {
    const std::string path = TRY(find(folders, name));
    return Program(name,
                   TRY(base::Child::start(
                       {.path = path, .arguments = arguments, .environment = {"LC_ALL=C"}})));
}

Result<Program::Outcome> Program::finish(const Deadline& deadline, const Stop& stop, int peer) {
    Outcome outcome;
    const auto collected = collect(deadline, stop, peer, outcome);
    child_.kill();  // what it started must not outlive it either
    outcome.status = child_.reap();
    if (!collected)
        return collected.error();
    return outcome;
}

Result<> Program::collect(const Deadline& deadline, const Stop& stop, int peer, Outcome& outcome) {
    enum : size_t { Out, Err, Life, Stopped, Peer };

    std::array<pollfd, 5> fds = {{{child_.out().get(), POLLIN, 0},
                                  {child_.err().get(), POLLIN, 0},
                                  {child_.life().get(), POLLIN, 0},
                                  {stop.fd(), POLLIN, 0},
                                  {peer, POLLIN | POLLRDHUP, 0}}};
    // Until it has ended and nothing is left to read; a child of its own may keep a pipe open.
    for (;;) {
        const bool ended = fds[Life].revents != 0;
        const int ready = ::poll(fds.data(), fds.size(), ended ? 0 : deadline.left_ms());
        if (ready < 0 && errno != EINTR)
            return sys_error("poll");
        if (ready < 0)
            continue;
        if (stop.requested())
            return stopped_error();
        if (ready == 0 && !ended)
            return make_error(Code::Timeout, name_ + " did not end in time");
        if (fds[Peer].revents != 0 && !ended)
            return make_error(Code::Unavailable, "the other side ended while " + name_ + " ran");
        bool read = false;
        for (const size_t i : {Out, Err}) {
            if (fds[i].revents == 0)
                continue;
            read = true;
            if (!TRY(read_some(i == Out ? child_.out() : child_.err(),
                               i == Out ? outcome.out : outcome.err,
                               name_)))
                fds[i].fd = -1;
        }
        if (ended && !read)
            return {};
    }
}

}  // namespace perf::perftest
