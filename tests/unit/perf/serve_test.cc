// SPDX-License-Identifier: Apache-2.0
// A server where the machine runs short: clients are kept waiting or refused, and the next is
// served.
#include <algorithm>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "perf/command/commands.h"
#include "perf/system/tcp.h"
#include "tests/unit/perf/paper.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeVerbs;
using test::Paper;
using testing::HasSubstr;
using namespace std::chrono_literals;

// While it lives, this process gets no descriptor any more.
class NoDescriptors {
  public:
    NoDescriptors() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        rlimit few = before_;
        few.rlim_cur = std::min<rlim_t>(few.rlim_cur, 256);
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        for (;;) {
            base::UniqueFd fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
            if (!fd)
                return;
            taken_.push_back(std::move(fd));
        }
    }

    ~NoDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    NoDescriptors(NoDescriptors&&) = delete;
    NoDescriptors& operator=(NoDescriptors&&) = delete;

  private:
    rlimit before_{};
    std::vector<base::UniqueFd> taken_;
};

// While it lives, no thread begins: their stacks are larger than any address space. A limit of
// processes would not hold root.
class NoThreads {
  public:
    NoThreads() {
        EXPECT_EQ(::pthread_getattr_default_np(&attributes_), 0);
        EXPECT_EQ(::pthread_attr_getstacksize(&attributes_, &before_), 0);
        set(size_t{1} << 60U);
    }

    ~NoThreads() {
        set(before_);
        (void)::pthread_attr_destroy(&attributes_);
    }

    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
    NoThreads(NoThreads&&) = delete;
    NoThreads& operator=(NoThreads&&) = delete;

  private:
    void set(size_t stack) {
        EXPECT_EQ(::pthread_attr_setstacksize(&attributes_, stack), 0);
        EXPECT_EQ(::pthread_setattr_default_np(&attributes_), 0);
    }

    pthread_attr_t attributes_{};
    size_t before_ = 0;
};

class ShortOf : public testing::Test {
  protected:
    void SetUp() override {
        ServeOptions options;
        options.bind = {"127.0.0.1"};
        options.side.timeout = 2s;
        server_ = std::jthread([this, options] {
            exit_ = serve(options, {verbs_, stop_, log_.file(), log_.file()});
        });
        await_line("\n");
        const std::string text = log_.text();
        port_ = static_cast<uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
    }

    void TearDown() override {
        EXPECT_TRUE(is_served());
        stop_.request();
        server_.join();
        EXPECT_EQ(exit_, Exit::Ok) << log_.text();
    }

    void await_line(const std::string& part) const {
        const auto deadline = base::Deadline::in(10s);
        while (log_.text().find(part) == std::string::npos && !deadline.passed())
            std::this_thread::yield();
        EXPECT_THAT(log_.text(), HasSubstr(part));
    }

    base::Result<base::UniqueFd> dial() {
        return connect_to("127.0.0.1", port_, base::Deadline::in(2s), stop_);
    }

    base::Result<> is_served() {
        (void)TRY(Client::greet(Control(TRY(dial()), stop_), options()));
        return {};
    }

    FakeVerbs verbs_;
    Stop stop_;
    Paper log_;
    Exit exit_ = Exit::Internal;
    uint16_t port_ = 0;
    std::jthread server_;
};

TEST_F(ShortOf, Descriptors) {
    {
        const base::UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_TRUE(client);
        const NoDescriptors none;
        SocketAddress server(parse_address("127.0.0.1").value(), port_);
        ASSERT_EQ(::connect(client.get(), server.get(), server.length), 0);
        await_line("Too many open files");
    }
    EXPECT_TRUE(is_served());
    const std::string said = log_.text();
    EXPECT_EQ(said.find("Too many open files"), said.rfind("Too many open files")) << said;
}

TEST_F(ShortOf, Threads) {
    const NoThreads none;
    auto refused = dial();
    ASSERT_TRUE(refused);
    const auto answer = Control(std::move(*refused), stop_).receive(base::Deadline::in(10s));
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->value("text", ""), HasSubstr("cannot start a thread"));
    await_line("refused: the server cannot start a thread");
}

}  // namespace
}  // namespace perf
