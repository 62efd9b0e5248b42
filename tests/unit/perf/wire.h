// SPDX-License-Identifier: Apache-2.0
// Wire: what lies between a client and a server. It carries their control frames and, where they
// measure TCP, their data through a port of its own, and does to both what a network may do.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "perf/protocol/control.h"
#include "perf/system/tcp.h"
#include "perf/verbs/memory.h"

namespace test {

// Offsets count the bytes of one direction of a data connection, from 0. The client's begin with
// its greeting.
inline constexpr uint64_t kGreeting = 16;

struct WireFaults {
    perf::Side from = perf::Side::Client;  // the direction that suffers
    std::optional<uint64_t> flip = {};     // one bit of the byte there
    std::optional<uint64_t> stall = {};    // nothing from there on
    std::optional<uint64_t> cut = {};      // the data connection ends there
    std::optional<uint64_t> tell = {};     // reached() is called there
    std::function<void()> reached = {};
    // With the server's data port, before the client knows it.
    std::function<void(uint16_t)> opened = {};
    // With each frame of the server, before the client has it.
    std::function<void(base::Json&)> answered = {};
};

class Wire {
  public:
    Wire(perf::Control server, WireFaults faults)
        : server_(std::move(server)), faults_(std::move(faults)) {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        client_fd_ = fds[0];
        client_.emplace(base::UniqueFd(fds[1]), stop_);
        listener_ = std::move(perf::listen_on({"127.0.0.1"}, 0).value().front());
        thread_ = std::jthread([this] {
            while (turn())
                continue;
            client_.reset();
        });
    }

    ~Wire() {
        stop_.request();
        thread_.join();
    }

    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    // The client's end; once.
    perf::Control control(const perf::Stop& stop) { return {base::UniqueFd(client_fd_), stop}; }

  private:
    struct Pipe {
        base::UniqueFd from;
        base::UniqueFd to;
        perf::Side side;
        uint64_t carried = 0;
    };

    bool turn() {
        std::vector<pollfd> fds = {{stop_.fd(), POLLIN, 0},
                                   {client_->fd(), POLLIN, 0},
                                   {server_.fd(), POLLIN, 0},
                                   {listener_.fd.get(), POLLIN, 0}};
        for (const Pipe& pipe : pipes_)
            fds.push_back({is_stalled(pipe) ? -1 : pipe.from.get(), POLLIN, 0});
        if (::poll(fds.data(), fds.size(), -1) < 0 || stop_.requested())
            return false;
        if (fds[1].revents != 0 && !relay(*client_, server_))
            return false;
        if (fds[2].revents != 0 && !relay(server_, *client_))
            return false;
        size_t next = 4;
        for (auto pipe = pipes_.begin(); next < fds.size(); ++next) {
            const bool over = fds[next].revents != 0 && !carry(*pipe);
            pipe = over ? pipes_.erase(pipe) : std::next(pipe);
        }
        if (fds[3].revents != 0)
            accept();
        return true;
    }

    [[nodiscard]] bool is_stalled(const Pipe& pipe) const {
        return faults_.stall && pipe.side == faults_.from && pipe.carried >= *faults_.stall;
    }

    bool relay(perf::Control& from, perf::Control& to) {
        auto frame = from.receive(deadline());
        if (!frame)
            return false;
        if ((*frame)["type"] == "opened" && frame->contains("port")) {
            port_ = (*frame)["port"];
            (*frame)["port"] = listener_.port;
            if (faults_.opened)
                faults_.opened(port_);
        }
        if (&from == &server_ && faults_.answered)
            faults_.answered(*frame);
        return to.send(*frame, deadline()).has_value();
    }

    void accept() {
        auto caller = perf::accept_from(listener_);
        if (!caller || !*caller)
            return;
        auto onward = perf::connect_to("127.0.0.1", port_, deadline(), stop_);
        ASSERT_TRUE(onward);
        const int client = (*caller)->get();
        const int server = onward->get();
        pipes_.push_back({std::move(**caller), base::UniqueFd(::dup(server)), perf::Side::Client});
        pipes_.push_back({std::move(*onward), base::UniqueFd(::dup(client)), perf::Side::Server});
    }

    bool carry(Pipe& pipe) {
        static thread_local std::vector<char> data(1 << 16);
        const ssize_t got = ::recv(pipe.from.get(), data.data(), data.size(), MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN;
        const auto length = static_cast<uint64_t>(got);
        if (length == 0 || hits(pipe, faults_.cut, length)) {
            (void)::shutdown(pipe.to.get(), SHUT_RDWR);
            (void)::shutdown(pipe.from.get(), SHUT_RDWR);
            return false;
        }
        if (hits(pipe, faults_.flip, length))
            data[*faults_.flip - pipe.carried] ^= 0x10;
        if (hits(pipe, faults_.tell, length))
            faults_.reached();
        pipe.carried += length;
        for (size_t done = 0; done < length;) {
            const ssize_t put =
                ::send(pipe.to.get(), data.data() + done, length - done, MSG_NOSIGNAL);
            if (put > 0)
                done += static_cast<size_t>(put);
            else if (errno != EAGAIN ||
                     !perf::wait_ready(pipe.to.get(), POLLOUT, deadline(), stop_))
                return false;
        }
        return true;
    }

    bool hits(const Pipe& pipe, const std::optional<uint64_t>& offset, uint64_t length) const {
        return offset && pipe.side == faults_.from && *offset >= pipe.carried &&
               *offset < pipe.carried + length;
    }

    static base::Deadline deadline() { return base::Deadline::in(std::chrono::seconds(10)); }

    perf::Control server_;
    WireFaults faults_;
    perf::Stop stop_;
    int client_fd_ = -1;
    std::optional<perf::Control> client_;
    perf::Listener listener_;
    uint16_t port_ = 0;
    std::list<Pipe> pipes_;
    std::jthread thread_;
};

}  // namespace test
