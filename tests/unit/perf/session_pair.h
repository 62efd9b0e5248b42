// SPDX-License-Identifier: Apache-2.0
// What the tests of client and server share: a server's session on a thread, and the other end of
// its connection.
#pragma once

#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/client.h"
#include "tests/unit/perf/fake_verbs.h"

namespace perf {

inline SideOptions options(std::chrono::milliseconds timeout = std::chrono::seconds(2)) {
    SideOptions side;
    side.timeout = timeout;
    return side;
}

inline Point point(Verb verb,
                   Mode mode,
                   uint32_t size = 1000,
                   Transport transport = Transport::Rc) {
    const Plan plan{.verbs = {verb},
                    .modes = {mode},
                    .sizes = {size},
                    .iterations = 777,
                    .transport = transport,
                    .seed = 5};
    return expand(plan).front();
}

// A session on a thread and the other end of its connection.
class Pair {
  public:
    explicit Pair(test::FakeVerbs& verbs,
                  std::chrono::milliseconds timeout = std::chrono::seconds(2))
        : timeout_(timeout) {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds_), 0);
        thread_ = std::jthread([this, &verbs] {
            Session session(verbs, Control(base::UniqueFd(fds_[1]), stop), options(timeout_));
            outcome_ = session.run();
        });
    }

    Control control() { return {base::UniqueFd(fds_[0]), stop}; }

    base::Result<Client> client(test::FakeVerbs& verbs) {
        return Client::start(verbs, control(), options(timeout_));
    }

    // Why the session ended; the other end must be closed.
    base::Result<> outcome() {
        thread_.join();
        return outcome_;
    }

    Stop stop;

  private:
    std::chrono::milliseconds timeout_;
    int fds_[2] = {-1, -1};
    base::Result<> outcome_;
    std::jthread thread_;
};

}  // namespace perf
