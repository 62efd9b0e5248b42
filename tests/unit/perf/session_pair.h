// SPDX-License-Identifier: Apache-2.0
// What the tests of client and server share: a server's session on a thread, and the other end of
// its connection.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/command/commands.h"
#include "perf/measure/client.h"
#include "tests/unit/perf/fake_verbs.h"

namespace perf {

inline SideOptions options(std::chrono::milliseconds timeout = std::chrono::seconds(2)) {
    SideOptions side;
    side.timeout = timeout;
    return side;
}

// Of a side that takes part in isolation tests, or not.
inline SideOptions consenting(std::chrono::milliseconds timeout, bool allow = true) {
    SideOptions side = options(timeout);
    side.allow_isolation_tests = allow;
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
                    .transports = {transport},
                    .seed = 5};
    return expand(plan).front();
}

// A session on a thread and the other end of its connection.
class Pair {
  public:
    explicit Pair(test::FakeVerbs& verbs,
                  std::chrono::milliseconds timeout = std::chrono::seconds(2))
        : Pair(verbs, options(timeout)) {}

    Pair(test::FakeVerbs& verbs, const SideOptions& side) : side_(side) {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds_), 0);
        thread_ = std::jthread([this, &verbs] {
            Served served;
            outcome_ = serve_session(verbs, Control(base::UniqueFd(fds_[1]), stop), side_, served);
        });
    }

    Control control() { return {base::UniqueFd(fds_[0]), stop}; }

    base::Result<Client> client(test::FakeVerbs& verbs) {
        return Client::start(verbs, control(), side_);
    }

    // Without a device: for points over TCP.
    base::Result<Client> client() { return Client::greet(control(), side_); }

    // Why the session ended; the other end must be closed.
    base::Result<> outcome() {
        thread_.join();
        return outcome_;
    }

    Stop stop;

  private:
    SideOptions side_;
    int fds_[2] = {-1, -1};
    base::Result<> outcome_;
    std::jthread thread_;
};

// One point over a session of its own; nothing may be left behind.
inline base::Result<PointResult> run_one(test::FakeVerbs& verbs, const Point& wanted) {
    Pair pair(verbs);
    auto result = [&]() -> base::Result<PointResult> {
        Client client = TRY(pair.client(verbs));
        return conduct({&client, 1}, wanted);
    }();
    (void)pair.outcome();
    EXPECT_EQ(verbs.objects(), 0U) << "objects are left";
    EXPECT_EQ(verbs.complaint(), "");
    return result;
}

// The point for `time_ms` instead of a number of messages. A busy machine may give the threads no
// processor for as long as a window, and no message passes then: a longer window follows.
inline base::Result<PointResult> run_by_time(Point wanted, uint32_t time_ms) {
    wanted.iterations = 0;
    for (;; time_ms *= 4) {
        test::FakeVerbs verbs;
        wanted.time_ms = time_ms;
        auto result = run_one(verbs, wanted);
        const bool is_empty = result && result->bandwidth && result->bandwidth->messages == 0;
        if (!is_empty || time_ms >= 2000)
            return result;
    }
}

// run(patience), of a client whose server is more patient, must end once patience has passed without
// a completion. On a busy machine an earlier step may take longer than that: then it gets twice as
// much.
template <class Run>
void expect_no_completion(const Run& run) {
    using namespace std::chrono_literals;
    for (std::chrono::milliseconds patience = 500ms;; patience *= 2) {
        const base::Result<PointResult> result = run(patience);
        ASSERT_FALSE(result);
        const std::string text = result.error().message();
        if (patience < 10s && text.find("the deadline passed") != std::string::npos)
            continue;
        EXPECT_THAT(
            text,
            testing::HasSubstr("no completion for " + std::to_string(patience.count()) + " ms"));
        return;
    }
}

// Calls body(value) for each value, all at the same time: for cases that do little but wait until a
// deadline has passed.
template <class Values, class Body>
void all_at_once(const Values& values, const Body& body) {
    std::vector<std::jthread> threads;
    for (const auto& value : values)
        threads.emplace_back([&body, &value] { body(value); });
}

// Messages that are checked in one direction: those of the rounds, and what a measurement left.
inline uint64_t messages_checked(const Point& wanted) {
    uint64_t all = uint64_t{kRoundsBefore + kRoundsAfter} * wanted.slots * wanted.qps;
    for (uint32_t lane = 0; looks_at_memory(wanted) && lane < wanted.qps; ++lane)
        all += std::min<uint64_t>(wanted.slots, iterations_of(wanted, lane));
    return all;
}

inline constexpr Verb kVerbs[] = {Verb::Write,
                                  Verb::Read,
                                  Verb::Send,
                                  Verb::WriteImm,
                                  Verb::SendImm,
                                  Verb::FetchAdd,
                                  Verb::CompareSwap};

}  // namespace perf
