// SPDX-License-Identifier: Apache-2.0
// Points over an iWARP device in memory. A SEND that finds no receive ends its connection (the fake
// complains), and a send completes before the other side has seen it.
#include <functional>
#include <future>
#include <numeric>
#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/engine/crew.h"
#include "perf/engine/team.h"
#include "perf/verbs/cm/connection.h"
#include "tests/unit/perf/fake_cm.h"

namespace perf {
namespace {

using base::Result;

// Both sides of a point, connected by rdma_cm.
class Teams {
  public:
    explicit Teams(const Point& point) : point_(point) {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        for (const int side : {0, 1})
            controls_[side].emplace(base::UniqueFd(fds[side]), stop_);
        device_ = open_cm_device(verbs_, cm_device_of(cm_, place_.address).value()).value();
        server_ = make(Side::Server);
        client_ = make(Side::Client);
        const auto aimed = server_->connect(device_.info, client_->opened().endpoints, 1024);
        EXPECT_TRUE(aimed && client_->connect(device_.info, server_->opened().endpoints, 1024));
        link();
    }

    ~Teams() {
        client_.reset();
        server_.reset();
        device_ = {};
        EXPECT_EQ(verbs_.complaint(), "");
        EXPECT_EQ(verbs_.objects(), 0U);
        EXPECT_EQ(cm_.complaint(), "");
        EXPECT_EQ(cm_.objects(), 0U);
    }

    // What the two sides sent and saw, as client and session measure it.
    void measure() {
        ASSERT_TRUE(server_->start() && client_->start());
        if (point_.time_ms != 0) {
            await(now_ns() + uint64_t{point_.time_ms} * 1'000'000, [] { return false; });
            client_->crew().close();
            server_->crew().close();
        }
        await(UINT64_MAX, [&] { return all(&Crew::all_drained); });
        server_->expect(client_->posted().by_lane);
        client_->expect(server_->posted().by_lane);
        await(UINT64_MAX, [&] { return all(&Crew::all_ended); });
        EXPECT_EQ(server_->crew().received(), sum(client_->posted().by_lane));
        EXPECT_EQ(client_->crew().received(), sum(server_->posted().by_lane));
        sent_ = client_->crew().sent() + server_->crew().sent();
        server_->finish();
        client_->finish();
    }

    // A round over the same queue pairs: nothing may be left in their queues.
    void verify(Side from) {
        VerbsTeam& to = from == Side::Client ? *server_ : *client_;
        VerbsTeam& sender = from == Side::Client ? *client_ : *server_;
        for (uint32_t lane = 0; lane < point_.qps; ++lane) {
            const Round round{.lane = lane, .number = 1, .from = from};
            auto came = std::async(std::launch::async, [&] { return to.collect(round); });
            EXPECT_TRUE(sender.emit(round));
            const Result<Checked> checked = came.get();
            ASSERT_TRUE(checked) << checked.error().message();
            EXPECT_FALSE(checked->wrong);
        }
    }

    [[nodiscard]] uint64_t sent() const { return sent_; }

  private:
    // The client's side ends only with the server's word, which is the test's here.
    void link() {
        const auto soon = base::Deadline::in(std::chrono::seconds(10));
        auto linked = std::async(std::launch::async, [&, ticket = server_->opened().ticket] {
            return client_->link(ticket);
        });
        EXPECT_TRUE(server_->link(std::nullopt));
        EXPECT_TRUE(controls_[1]->expect("link", soon));
        EXPECT_EQ(linked.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
        EXPECT_TRUE(controls_[1]->send(message("linked"), soon));
        EXPECT_TRUE(linked.get());
    }

    static uint64_t sum(const std::vector<uint64_t>& counts) {
        return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    }

    static test::FakeDevice iwarp_device() {
        test::FakeDevice device = test::loopback_device();
        device.iwarp = true;
        return device;
    }

    std::unique_ptr<VerbsTeam> make(Side side) {
        Control& control = *controls_[side == Side::Client ? 0 : 1];
        return VerbsTeam::create(device_,
                                 point_,
                                 side,
                                 {.control = &control, .device = &device_, .poll = point_.poll},
                                 {.cm = &cm_, .local = place_.address, .peer = place_.address})
            .value();
    }

    [[nodiscard]] bool all(bool (Crew::*state)() const) {
        return (server_->crew().*state)() && (client_->crew().*state)();
    }

    void await(uint64_t until_ns, const std::function<bool()>& done) {
        const Watched watched[2] = {{&*controls_[0], &client_->crew()},
                                    {&*controls_[1], &server_->crew()}};
        const auto attention = attend(watched, until_ns, done);
        ASSERT_TRUE(attention);
        EXPECT_NE(attention->cause, Attention::Cause::Failed);
    }

    Point point_;
    Stop stop_;
    test::FakeVerbs verbs_{{iwarp_device()}};
    test::FakeCmDevice place_{.name = iwarp_device().name, .iwarp = true};
    test::FakeCm cm_{verbs_, {place_}};
    std::optional<Control> controls_[2];
    Device device_;
    std::unique_ptr<VerbsTeam> server_;
    std::unique_ptr<VerbsTeam> client_;
    uint64_t sent_ = 0;
};

struct IwarpShape {
    std::string name;
    uint32_t depth = 0;
    uint32_t qps = 1;
    uint32_t threads = 1;
    Direction direction = Direction::Forward;
    PollMode poll = PollMode::Yield;
    uint32_t signal = 0;
    uint32_t credit = 0;
};

Point point_of(const IwarpShape& shape, uint32_t iterations, uint32_t time_ms) {
    Plan plan{.verbs = {Verb::Send},
              .modes = {Mode::Bandwidth},
              .sizes = {100},
              .iterations = iterations,
              .time_ms = time_ms,
              .seed = 5};
    plan.qps = {shape.qps};
    plan.threads = shape.threads;
    plan.direction = shape.direction;
    plan.polls = {Poll{.mode = shape.poll}};
    if (shape.depth != 0)
        plan.depths = {shape.depth};
    plan.connect = Connect::Cm;
    plan.signal = shape.signal;
    Point point = expand(plan).front();
    point.credit = shape.credit;
    return point;
}

std::string name_of_shape(const testing::TestParamInfo<IwarpShape>& shape) {
    return shape.param.name;
}

class IwarpSend : public testing::TestWithParam<IwarpShape> {};

TEST_P(IwarpSend, NeverOutrunsTheReceiver) {
    constexpr uint32_t kMessages = 20000;
    const Point point = point_of(GetParam(), kMessages, 0);
    Teams teams(point);
    teams.measure();
    EXPECT_GE(teams.sent(), point.direction == Direction::Both ? 2 * kMessages : kMessages);
    if (point.direction != Direction::Reverse)
        teams.verify(Side::Client);
    if (point.direction != Direction::Forward)
        teams.verify(Side::Server);
    teams.measure();
}

TEST_P(IwarpSend, EndsWhenItIsClosed) {
    Teams teams(point_of(GetParam(), 0, 30));
    teams.measure();
    EXPECT_GT(teams.sent(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    IwarpSend,
    testing::Values(
        IwarpShape{.name = "Plain"},
        IwarpShape{.name = "DepthOne", .depth = 1},
        IwarpShape{.name = "DepthThree", .depth = 3},
        IwarpShape{.name = "FewSignals", .depth = 16, .signal = 16},
        IwarpShape{.name = "ManySignals", .depth = 16, .qps = 2, .signal = 2},
        IwarpShape{.name = "FewCredits", .credit = 256},
        IwarpShape{.name = "CreditsOfAStrangePeer",
                   .depth = 16,
                   .qps = 2,
                   .direction = Direction::Both,
                   .credit = UINT32_MAX},
        IwarpShape{.name = "Event", .poll = PollMode::Event},
        IwarpShape{.name = "Reverse", .direction = Direction::Reverse},
        IwarpShape{.name = "Both", .direction = Direction::Both},
        IwarpShape{
            .name = "Several", .depth = 16, .qps = 5, .threads = 2, .direction = Direction::Both}),
    name_of_shape);

}  // namespace
}  // namespace perf
