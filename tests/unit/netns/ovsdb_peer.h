// SPDX-License-Identifier: Apache-2.0
// A server of OVSDB that does what a test says, for what no good server does.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "netns/base/unique_fd.h"
#include "netns/kernel/ovsdb/json_rpc.h"
#include "tests/support/temp_dir.h"

namespace test {

// One connection, as the server sees it.
class Peer {
  public:
    explicit Peer(base::UniqueFd fd) : fd_(std::move(fd)) {}

    // False: the client is gone.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (size <= 0)
                return false;
            bytes.remove_prefix(static_cast<size_t>(size));
        }
        return true;
    }

    // The next message of the client; null when it is gone.
    base::Json receive() {
        for (;;) {
            if (const auto text = splitter_.next().value())
                return base::parse_json(*text, "request").value();
            std::array<char, 4096> buffer{};
            const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
            if (size <= 0)
                return {};
            splitter_.append({buffer.data(), static_cast<size_t>(size)});
        }
    }

    static std::string reply_to(const base::Json& request, const std::string& result) {
        return R"({"id":)" + request["id"].dump() + R"(,"result":)" + result + R"(,"error":null})";
    }

    // Answers the next request; false: there is none.
    bool answer(const std::string& result) {
        const base::Json request = receive();
        return !request.is_null() && send(reply_to(request, result));
    }

  private:
    base::UniqueFd fd_;
    netns::ovsdb::Splitter splitter_;
};

// Serves one connection after the other, each by the script, and closes it then.
class PeerServer {
  public:
    using Script = std::function<void(Peer&, int)>;

    explicit PeerServer(Script script) : script_(std::move(script)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path().copy(std::begin(address.sun_path), sizeof address.sun_path - 1);
        listener_ = base::UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const auto* raw = reinterpret_cast<const sockaddr*>(&address);
        EXPECT_EQ(::bind(listener_.get(), raw, sizeof address), 0);
        EXPECT_EQ(::listen(listener_.get(), 0), 0);
        if (script_)
            thread_ = std::thread([this] { serve(); });
    }

    ~PeerServer() { stop(); }

    PeerServer(const PeerServer&) = delete;
    PeerServer& operator=(const PeerServer&) = delete;
    PeerServer(PeerServer&&) = delete;
    PeerServer& operator=(PeerServer&&) = delete;

    [[nodiscard]] std::string path() const { return dir_ / "db.sock"; }

    // Call it when the clients are gone. How many connections there were.
    int stop() {
        if (thread_.joinable()) {
            (void)::shutdown(listener_.get(), SHUT_RDWR);
            thread_.join();
        }
        listener_.reset();
        return count_;
    }

  private:
    void serve() {
        for (;;) {
            base::UniqueFd fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (!fd)
                return;
            Peer peer{std::move(fd)};
            script_(peer, count_++);
        }
    }

    TempDir dir_;
    Script script_;
    base::UniqueFd listener_;
    int count_ = 0;
    std::thread thread_;
};

}  // namespace test
