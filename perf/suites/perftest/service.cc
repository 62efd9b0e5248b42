// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/service.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf/suites/perftest/listening.h"
#include "perf/suites/perftest/output.h"
#include "perf/system/tcp.h"

namespace perf::perftest {

using base::Code;
using base::Deadline;
using base::make_error;
using base::Result;
using base::UniqueFd;

namespace {
constexpr auto kLookAgain = std::chrono::milliseconds(10);
constexpr auto kAnswer = kProbeTime / 3;  // of a program that only prints its help
constexpr uint32_t kTries = 3;            // of a port

// Its exit status says nothing: perftest exits with 1 here.
Result<std::string> printed_by(const Folders& folders,
                               const std::string& name,
                               const std::string& option,
                               const Stop& stop) {
    Program program = TRY(Program::start(folders, name, {option}));
    auto outcome = TRY(program.finish(Deadline::in(kAnswer), stop));
    return std::move(outcome.out) + outcome.err;
}

bool is_free(uint16_t port) {
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    return fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

// Another one each time, of all clients together: one that was just used may not be free at once.
// Not from the first on, and as far from the next process as it may try, so that servers of one
// host seldom choose the same at the same time.
Result<uint16_t> choose_port() {
    static std::atomic<uint32_t> next = static_cast<uint32_t>(::getpid()) * kTries;
    constexpr uint32_t kPorts = kLastPort - kFirstPort + 1;
    for (uint32_t i = 0; i < kPorts; ++i) {
        const auto port = static_cast<uint16_t>(kFirstPort + next++ % kPorts);
        if (is_free(port))
            return port;
    }
    return make_error(Code::Busy,
                      fmt::format("no port from {} to {} is free", kFirstPort, kLastPort));
}
}  // namespace

Result<Version> probe(const Folders& folders, const Stop& stop) {
    Version version;
    version.version = TRY(parse_version(
        TRY(printed_by(folders, program_of(Verb::Write, Mode::Bandwidth), "--version", stop))));
    const std::string help =
        TRY(printed_by(folders, program_of(Verb::Write, Mode::Latency), "--help", stop));
    version.immediate = help.find("--write_with_imm") != std::string::npos;
    return version;
}

Result<> check_device(const DeviceInfo& device) {
    if (!device.iwarp)
        return {};
    return make_error(Code::Unsupported,
                      device.device + " is an iWARP device, over which perftest is not compared");
}

End end_of(Side side, const DeviceInfo& device, const Address& server, uint16_t port) {
    End end{.side = side,
            .device = device.device,
            .device_port = device.port,
            .gid_index = std::nullopt,
            .server = server,
            .port = port};
    if (device.gid_type != GidType::InfiniBand)
        end.gid_index = device.gid_index;
    return end;
}

Address server_address(int fd, Side side) {
    const auto address = side == Side::Server ? local_address(fd) : peer_address(fd);
    return address.value_or(*parse_address("127.0.0.1"));
}

std::string last_line_of(const Program::Outcome& outcome) {
    std::string line = last_line(outcome.err);
    return line.empty() ? last_line(outcome.out) : line;
}

Result<Version> Service::probe() {
    TRY(check_device(*device_));
    Version version = TRY(perftest::probe(folders_, control_->stop()));
    const std::string help = TRY(
        printed_by(folders_, program_of(Verb::Write, Mode::Bandwidth), "--help", control_->stop()));
    can_bind_ = help.find("--bind_source_ip") != std::string::npos;
    return version;
}

Result<uint16_t> Service::start(const Trial& trial) {
    program_.reset();
    trial_ = trial;
    const Deadline deadline = Deadline::in(timeout_);
    for (uint32_t left = kTries;; --left) {
        const uint16_t port = TRY(choose_port());
        const auto listening = start_on(port, deadline);
        if (listening)
            return port;
        // A port that was free may be another's by the time that perftest binds it: its end is not
        // yet a failure.
        if (left == 1 || is_running())
            return listening.error();
    }
}

Result<> Service::start_on(uint16_t port, Deadline deadline) {
    End end = end_of(Side::Server, *device_, server_address(control_->fd(), Side::Server), port);
    end.can_bind = can_bind_;
    program_ = TRY(
        Program::start(folders_, program_of(trial_.verb, trial_.mode), arguments_of(trial_, end)));
    return await_listener(port, deadline);
}

Result<> Service::await_listener(uint16_t port, Deadline deadline) {
    const std::string process = "/proc/" + std::to_string(program_->pid());
    std::array<pollfd, 3> fds = {{{program_->life(), POLLIN, 0},
                                  {control_->fd(), POLLRDHUP, 0},
                                  {control_->stop().fd(), POLLIN, 0}}};
    while (!listens(process, port)) {
        if (::poll(fds.data(), fds.size(), static_cast<int>(kLookAgain.count())) < 0 &&
            errno != EINTR)
            return base::sys_error("poll");
        if (control_->stop().requested())
            return stopped_error();
        if (fds[1].revents != 0)
            return make_error(Code::Unavailable, "the client went away");
        const std::string name = program_of(trial_.verb, trial_.mode);
        if (fds[0].revents != 0) {
            const Ended ended = TRY(end());
            return make_error(Code::Unsupported,
                              fmt::format("{} ended with {} before it listened: {}",
                                          name,
                                          ended.status,
                                          ended.last_line));
        }
        if (deadline.passed())
            return make_error(Code::Timeout, name + " does not listen");
    }
    return {};
}

std::chrono::milliseconds Service::patience() const {
    return length_of(trial_) + 2 * timeout_;
}

Result<Ended> Service::end() {
    if (!program_)
        return make_error(Code::BadInput, "no program of perftest runs");
    const auto outcome = program_->finish(Deadline::in(timeout_), control_->stop(), control_->fd());
    program_.reset();
    if (!outcome && outcome.error().code != Code::Timeout)
        return outcome.error();
    if (!outcome)
        return Ended{.status = 128 + SIGKILL, .last_line = outcome.error().text};
    return Ended{.status = outcome->status, .last_line = last_line_of(*outcome)};
}

}  // namespace perf::perftest
