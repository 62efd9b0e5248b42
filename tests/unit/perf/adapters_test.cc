// SPDX-License-Identifier: Apache-2.0
// What adapters demand, refuse or ignore and a software device does not: client and server over a
// fake provider that does the same.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "perf/command/commands.h"
#include "perf/engine/team.h"
#include "perf/measure/client.h"
#include "perf/system/reading.h"
#include "perf/verbs/limit.h"
#include "tests/unit/perf/session_pair.h"
#include "tests/unit/perf/wire.h"

namespace perf {
namespace {

using test::FakeDevice;
using test::FakeVerbs;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

// mlx5's, as far as this is known to verbs.
FakeDevice adapter(const std::string& name = "rxe0") {
    FakeDevice device = test::loopback_device(name);
    device.vendor_id = 0x2c9;
    device.mtu = 4096;
    return device;
}

FakeDevice infiniband(bool wants_grh) {
    FakeDevice device = adapter();
    device.infiniband = true;
    device.wants_grh = wants_grh;
    device.gids = {test::gid_row(0, "fe80::1", GidType::InfiniBand)};
    return device;
}

base::Error refusal(const base::Result<PointResult>& result) {
    EXPECT_FALSE(result);
    return result ? base::Error{} : result.error();
}

bool any_relaxed(FakeVerbs& verbs) {
    return std::ranges::any_of(
        verbs.accesses(), [](int access) { return (access & IBV_ACCESS_RELAXED_ORDERING) != 0; });
}

bool all_relaxed(FakeVerbs& verbs) {
    return std::ranges::all_of(
        verbs.accesses(), [](int access) { return (access & IBV_ACCESS_RELAXED_ORDERING) != 0; });
}

TEST(Ordering, IsRelaxedUnlessAskedOtherwise) {
    for (const Verb verb : kVerbs) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            FakeVerbs relaxed;
            const auto result = run_one(relaxed, point(verb, mode));
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_FALSE(result->checked.wrong);
            EXPECT_EQ(result->server_ordering, Ordering::Relaxed);
            EXPECT_GE(relaxed.accesses().size(), 2U);
            EXPECT_TRUE(all_relaxed(relaxed));
        }
    }
    FakeVerbs strict;
    Point wanted = point(Verb::Write, Mode::Bandwidth);
    wanted.ordering = Ordering::Strict;
    const auto result = run_one(strict, wanted);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->server_ordering, Ordering::Strict);
    EXPECT_FALSE(any_relaxed(strict));
}

TEST(Ordering, OfAnOldKernelIsStrictAndNoError) {
    FakeVerbs verbs;
    verbs.have_old_kernel();
    const auto result = run_one(verbs, point(Verb::Write, Mode::Bandwidth));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(any_relaxed(verbs));
}

bool with_grh(const ibv_ah_attr& path) {
    return path.is_global != 0;
}

TEST(Path, HasAGrhWhereThePortWantsOne) {
    for (const Transport transport : {Transport::Rc, Transport::Uc, Transport::Ud}) {
        for (const bool wanted : {true, false}) {
            FakeVerbs verbs({infiniband(wanted)});
            const auto result = run_one(verbs, point(Verb::Send, Mode::Bandwidth, 64, transport));
            ASSERT_TRUE(result) << result.error().message();
            ASSERT_GE(verbs.paths().size(), 2U);
            for (const ibv_ah_attr& path : verbs.paths()) {
                EXPECT_EQ(with_grh(path), wanted);
                EXPECT_EQ(path.dlid, 7);
            }
        }
    }
}

TEST(Path, HasAGrhWhereItsUserNamesAGid) {
    FakeVerbs verbs({infiniband(false)});
    SideOptions side = options();
    side.wish.gid_index = 0;
    Pair pair(verbs, side);
    {
        auto client = pair.client(verbs);
        ASSERT_TRUE(client) << client.error().message();
        EXPECT_TRUE(client->device().info.grh);
        const auto result = conduct({&*client, 1}, point(Verb::Write, Mode::Bandwidth));
        ASSERT_TRUE(result) << result.error().message();
    }
    (void)pair.outcome();
    EXPECT_TRUE(std::ranges::all_of(verbs.paths(), with_grh));
}

TEST(Path, LeavesTheSubnetByAGrh) {
    DeviceInfo own;
    own.gid = *parse_address("fe80::1");
    own.gid_type = GidType::InfiniBand;
    own.lid = 1;
    DeviceInfo peer = own;
    EXPECT_FALSE(needs_grh(own, peer, {}));
    EXPECT_EQ(wire_between(own, peer, 4096).stack, HeaderStack::InfiniBand);
    EXPECT_TRUE(needs_grh(own, peer, {.flow_label = 1}));
    peer.gid = *parse_address("fec0:0:0:1::1");
    EXPECT_TRUE(needs_grh(own, peer, {}));
    EXPECT_EQ(wire_between(own, peer, 4096).stack, HeaderStack::InfiniBandGrh);
    peer = own;
    peer.grh = true;
    EXPECT_TRUE(needs_grh(own, peer, {})) << "the other port wants one";
}

TEST(Path, IsMarkedOnBothSides) {
    for (const Transport transport : {Transport::Rc, Transport::Uc, Transport::Ud}) {
        FakeVerbs verbs({adapter()});
        Point wanted = point(Verb::Send, Mode::Latency, 64, transport);
        wanted.marks = {.traffic_class = 106, .service_level = 3, .flow_label = 0x12345};
        const auto result = run_one(verbs, wanted);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->point.marks, wanted.marks);
        ASSERT_GE(verbs.paths().size(), 2U);
        for (const ibv_ah_attr& path : verbs.paths()) {
            EXPECT_EQ(path.grh.traffic_class, 106);
            EXPECT_EQ(path.sl, 3);
            EXPECT_EQ(path.grh.flow_label, 0x12345U);
        }
    }
}

// A client on mlx5_0 and a server on mlx5_1, whose tables have the partition at different places.
base::Result<PointResult> run_in_partition(uint32_t index) {
    FakeDevice near = adapter("mlx5_0");
    FakeDevice far = adapter("mlx5_1");
    near.pkeys = {0xffff, 0x8005, 0x8009};
    far.pkeys = {0xffff, 0x8007, 0x0005};
    FakeVerbs verbs({near, far});
    SideOptions server = options();
    SideOptions client = options();
    server.wish.device = "mlx5_1";
    client.wish.device = "mlx5_0";
    Pair pair(verbs, server);
    auto result = [&]() -> base::Result<PointResult> {
        Client started = TRY(Client::start(verbs, pair.control(), client));
        Point wanted = point(Verb::Write, Mode::Bandwidth);
        wanted.marks.pkey_index = index;
        return conduct({&started, 1}, wanted);
    }();
    (void)pair.outcome();
    EXPECT_EQ(verbs.objects(), 0U);
    return result;
}

TEST(Partition, IsTheSameWhereverTheServersTableHasIt) {
    const auto result = run_in_partition(1);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong);
    EXPECT_TRUE(run_in_partition(0));
    EXPECT_THAT(refusal(run_in_partition(2)).message(), HasSubstr("not in the partition 0x8009"));
    EXPECT_THAT(refusal(run_in_partition(3)).message(), HasSubstr("no partition key at index 3"));
}

TEST(ThreadDomain, IsOfEachThreadWhereTheProviderHasThem) {
    for (const uint32_t there : {0U, 1U, 16U}) {
        FakeDevice device = adapter();
        device.thread_domains = there;
        FakeVerbs verbs({device});
        Point wanted = point(Verb::Send, Mode::Bandwidth);
        wanted.qps = 6;
        wanted.threads = 2;
        const auto result = run_one(verbs, wanted);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong);
        // Two threads on each side, with three queue pairs each.
        EXPECT_THAT(verbs.thread_domains(), AllOf(SizeIs(std::min(there, 4U)), Each(3U)));
    }
}

TEST(Reads, AreAsManyAsTheDevicesCan) {
    FakeDevice device = adapter();
    device.max_reads = 24;
    for (const Verb verb : {Verb::Read, Verb::FetchAdd}) {
        FakeVerbs verbs({device});
        const auto result = run_one(verbs, point(verb, Mode::Bandwidth));
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->reads, 24U);
        EXPECT_THAT(verbs.reads(), Each(24));
    }
    device.max_reads = 500;  // eight bits hold it
    FakeVerbs verbs({device});
    const auto result = run_one(verbs, point(Verb::Read, Mode::Bandwidth));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->reads, 255U);
    FakeVerbs writes({device});
    EXPECT_EQ(run_one(writes, point(Verb::Write, Mode::Bandwidth))->reads, 0U);
}

TEST(Reads, AreAsAskedForOrRefused) {
    FakeDevice device = adapter();
    device.max_reads = 16;
    Point wanted = point(Verb::Read, Mode::Bandwidth);
    for (const Direction direction : {Direction::Forward, Direction::Reverse}) {
        wanted.direction = direction;
        wanted.reads = 4;
        FakeVerbs verbs({device});
        const auto result = run_one(verbs, wanted);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->reads, 4U);
        EXPECT_THAT(verbs.reads(), testing::Contains(4));
        wanted.reads = 17;
        FakeVerbs small({device});
        EXPECT_THAT(refusal(run_one(small, wanted)).message(), HasSubstr("the devices can do 16"));
    }
}

TEST(Inline, IsAsAskedForOrRefused) {
    FakeDevice device = adapter();
    device.max_inline = 128;
    const auto inlined = [&](uint32_t size, std::optional<uint32_t> limit) {
        FakeVerbs verbs({device});
        Point wanted = point(Verb::Write, Mode::Bandwidth, size);
        wanted.inline_bytes = limit;
        return run_one(verbs, wanted);
    };
    EXPECT_EQ(inlined(16, 0)->inline_bytes, 0U);
    EXPECT_EQ(inlined(64, 63)->inline_bytes, 0U);
    EXPECT_EQ(inlined(128, 128)->inline_bytes, 128U);
    EXPECT_THAT(refusal(inlined(200, 200)).fix, HasSubstr("--inline"));
}

// What fits, and one byte more.
TEST(Inline, AutoIsByAdapterVerbAndMode) {
    struct Row {
        uint32_t vendor;
        Verb verb;
        Mode mode;
        Transport transport;
        uint32_t most;
    };

    constexpr uint32_t kOther = 0x8086;
    for (const Row& row : {Row{0x2c9, Verb::Write, Mode::Bandwidth, Transport::Rc, 28},
                           {0x15b3, Verb::WriteImm, Mode::Bandwidth, Transport::Uc, 28},
                           {0x2c9, Verb::Send, Mode::Bandwidth, Transport::Rc, 44},
                           {0x2c9, Verb::Send, Mode::Bandwidth, Transport::Ud, 60},
                           {0x2c9, Verb::Write, Mode::Latency, Transport::Rc, 220},
                           {kOther, Verb::Write, Mode::Bandwidth, Transport::Rc, 220},
                           {kOther, Verb::Send, Mode::Latency, Transport::Ud, 220}}) {
        FakeDevice device = adapter();
        device.vendor_id = row.vendor;
        device.max_inline = 512;
        for (const uint32_t more : {0U, 1U}) {
            FakeVerbs verbs({device});
            const Point wanted = point(row.verb, row.mode, row.most + more, row.transport);
            const auto result = run_one(verbs, wanted);
            ASSERT_TRUE(result) << describe(wanted) << ": " << result.error().message();
            EXPECT_EQ(result->inline_bytes, more == 0 ? row.most : 0U) << describe(wanted);
        }
    }
    FakeDevice small = adapter();
    small.vendor_id = kOther;
    small.max_inline = 128;
    FakeVerbs verbs({small});
    EXPECT_EQ(run_one(verbs, point(Verb::Write, Mode::Bandwidth, 200))->inline_bytes, 0U)
        << "more than the device has";
}

TEST(Signal, IsApartFromTheBatch) {
    for (const uint32_t signal : {1U, 4U, 8U, 16U, 32U}) {
        for (const uint32_t qps : {1U, 3U}) {
            Point wanted = point(Verb::Send, Mode::Bandwidth);
            wanted.depth = wanted.slots = 32;
            wanted.batch = 8;
            wanted.qps = qps;
            wanted.signal = signal;
            ASSERT_TRUE(check_limits(wanted)) << signal;
            FakeVerbs verbs;
            const auto counted = run_one(verbs, wanted);
            ASSERT_TRUE(counted) << signal << ": " << counted.error().message();
            EXPECT_EQ(counted->bandwidth->messages, 777U);
            const auto timed = run_by_time(wanted, 50);
            ASSERT_TRUE(timed) << signal << ": " << timed.error().message();
            EXPECT_FALSE(timed->checked.wrong);
        }
    }
}

TEST(Signal, FitsDepthAndBatch) {
    Point wanted = point(Verb::Send, Mode::Bandwidth);
    wanted.depth = wanted.slots = 48;
    wanted.batch = 8;
    for (const auto& [signal, good] :
         {std::pair(24U, true), {48U, true}, {2U, true}, {12U, false}, {96U, false}, {5U, false}}) {
        wanted.signal = signal;
        EXPECT_EQ(bool(check_limits(wanted)), good) << signal;
    }
    wanted = point(Verb::Send, Mode::Latency);
    wanted.signal = 1;
    EXPECT_FALSE(check_limits(wanted));
}

TEST(Device, WithoutAnRcSaysSo) {
    FakeDevice efa = adapter();
    efa.has_rc = false;
    FakeVerbs verbs({efa});
    const auto error = refusal(run_one(verbs, point(Verb::Write, Mode::Bandwidth)));
    EXPECT_THAT(error.message(), HasSubstr("the device has no rc"));
    EXPECT_THAT(error.fix, Not(HasSubstr("--depth")));
    FakeVerbs datagrams({efa});
    EXPECT_TRUE(run_one(datagrams, point(Verb::Send, Mode::Bandwidth, 64, Transport::Ud)));
}

TEST(Poll, AutoSpinsOnAnAdapterWithRoom) {
    const auto chosen = [](PollMode wish, Transport transport, uint32_t threads, PollPlace place) {
        const Point point{.transport = transport, .threads = threads, .poll = {.mode = wish}};
        return resolve_poll(point, place).mode;
    };
    using enum PollMode;
    const PollPlace roomy{.software = false, .processors = 8};
    EXPECT_EQ(chosen(Auto, Transport::Rc, 1, roomy), Spin);
    EXPECT_EQ(chosen(Auto, Transport::Ud, 8, roomy), Spin);
    EXPECT_EQ(chosen(Auto, Transport::Rc, 9, roomy), Yield);
    EXPECT_EQ(chosen(Auto, Transport::Rc, 1, {.software = false, .processors = 1}), Yield);
    EXPECT_EQ(chosen(Auto, Transport::Rc, 1, {.software = true, .processors = 8}), Yield);
    EXPECT_EQ(chosen(Auto, Transport::Tcp, 1, roomy), Event);
    EXPECT_EQ(chosen(Event, Transport::Rc, 1, roomy), Event);
}

TEST(Poll, OfBothSidesIsInTheResult) {
    for (const bool software : {true, false}) {
        FakeDevice device = adapter();
        device.vendor_id = software ? kRxeVendor : 0x2c9U;
        FakeVerbs verbs({device});
        const auto result = run_one(verbs, point(Verb::Send, Mode::Latency));
        ASSERT_TRUE(result) << result.error().message();
        const auto expected =
            resolve_poll({}, {.software = software, .processors = poll_place(Device{}).processors});
        EXPECT_EQ(result->point.poll, expected);
        EXPECT_EQ(result->server_poll, expected);
    }
}

TEST(PingPong, AsksForEachCompletionWhereThatIsQuicker) {
    for (const uint32_t vendor : {kSiwVendor, kRxeVendor, 0x2c9U}) {
        FakeDevice device = adapter();
        device.vendor_id = vendor;
        FakeVerbs verbs({device});
        const auto result = run_one(verbs, point(Verb::Send, Mode::Latency));
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(verbs.unsignaled() == 0, vendor == kSiwVendor) << vendor;
    }
}

// The kernel's own slack is 50 us.
TEST(Crew, SleepsNoLongerThanItAsks) {
    auto crew = Crew::create().value();
    int slack = -1;
    ASSERT_TRUE(crew->hire(false, [&](Crew::Hand&) {
        slack = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        return Ending{};
    }));
    ASSERT_TRUE(crew->start());
    crew.reset();
    EXPECT_EQ(slack, 1);
}

// A control connection whose peer stays silent.
class QuietControl {
  public:
    QuietControl() {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        other_.reset(fds[1]);
        control_.emplace(base::UniqueFd(fds[0]), stop_);
    }

    Control* get() { return &*control_; }

  private:
    Stop stop_;
    base::UniqueFd other_;
    std::optional<Control> control_;
};

// Threads of this process that may run on one processor alone.
size_t threads_on_one_processor() {
    size_t out = 0;
    const auto tasks = read_names("/proc/self/task").value();
    for (const std::string& task : tasks) {
        const auto status = read_small("/proc/self/task/" + task + "/status").value_or("");
        const auto set = parse_processors(value_after(status, "Cpus_allowed_list:").value_or(""));
        out += set && CPU_COUNT(&*set) == 1 ? 1U : 0U;
    }
    return out;
}

// An adapter that is near to the first of this thread's processors.
class NearAdapter : public testing::Test {
  protected:
    void SetUp() override {
        const auto own = own_processors();
        ASSERT_TRUE(own);
        before_ = *own;
        if (CPU_COUNT(&before_) == 1)
            GTEST_SKIP() << "this machine has one processor: all threads are on it";
        device_ = open_best_device(verbs_, {}, {parse_address("127.0.0.1").value()}).value();
        EXPECT_FALSE(device_.near) << "sysfs has no such adapter";
        device_.near.emplace();
        CPU_ZERO(&*device_.near);
        size_t first = 0;
        while (!CPU_ISSET(first, &before_))
            ++first;
        CPU_SET(first, &*device_.near);
    }

    static bool are_own(const cpu_set_t& processors) {
        const auto own = own_processors();
        return own && CPU_EQUAL(&*own, &processors);
    }

    cpu_set_t before_{};
    FakeVerbs verbs_{{adapter()}};
    Device device_;
};

// What serves a suite is on the thread of its session, or on threads that this one starts.
TEST_F(NearAdapter, SuitesStayWhileTheyAreServed) {
    for (const Suite* suite : all_suites()) {
        if (suite->served == nullptr)
            continue;
        auto half = suite->served->make({.control = {},
                                         .options = {},
                                         .device = &device_,
                                         .peer = {},
                                         .account = {},
                                         .await = {}});
        EXPECT_TRUE(are_own(*device_.near)) << suite->name;
        half.reset();
        EXPECT_TRUE(are_own(before_)) << suite->name;
    }
}

TEST_F(NearAdapter, ThreadsOfATeamStay) {
    Point p = point(Verb::Send, Mode::Bandwidth);
    p.qps = p.threads = 2;
    QuietControl quiet;
    const Waiting waiting{
        .control = quiet.get(), .device = &device_, .poll = {.mode = PollMode::Yield}};
    auto team = VerbsTeam::create(device_, p, Side::Server, waiting, {}).value();
    EXPECT_EQ(threads_on_one_processor(), 0U);
    ASSERT_TRUE(team->start());
    EXPECT_EQ(threads_on_one_processor(), 2U);
    EXPECT_TRUE(are_own(before_)) << "this thread has no part in it";
}

// Its client's next message is due so much later. Of the client itself: loops_test.cc.
TEST(OpenLoop, ItsServerIsPatientFromOneMessageToTheNext) {
    for (const PollMode mode : {PollMode::Yield, PollMode::Event}) {
        FakeVerbs verbs;
        const Device device =
            open_best_device(verbs, {}, {parse_address("127.0.0.1").value()}).value();
        const Plan plan{.verbs = {Verb::Send},
                        .modes = {Mode::Latency},
                        .sizes = {64},
                        .iterations = 3,
                        .polls = {{.mode = mode}},
                        .rate = 3};
        const Point p = expand(plan).front();
        QuietControl quiet;
        const Waiting waiting{
            .control = quiet.get(), .device = &device, .patience = 1ms, .poll = p.poll};
        auto team = VerbsTeam::create(device, p, Side::Server, waiting, {}).value();
        const uint64_t begin = now_ns();
        ASSERT_TRUE(team->start());
        const Watched watched{.control = quiet.get(), .crew = &team->crew()};
        const auto attention = attend({&watched, 1}, begin + 20'000'000'000U, [] { return false; });
        ASSERT_TRUE(attention);
        ASSERT_EQ(attention->cause, Attention::Cause::Failed);
        EXPECT_EQ(team->crew().failure()->wake, Wake::TimedOut);
        EXPECT_GE(now_ns() - begin, 1'000'000'000U / p.rate);
    }
}

// A server of an older version leaves out what it does not know, without a word.
TEST(OlderServer, IsNotAskedForWhatItDoesNotKnow) {
    FakeVerbs verbs;
    Pair pair(verbs, options());
    {
        test::Wire wire(pair.control(), {.answered = [](base::Json& frame) {
                            if (frame["type"] == "hello")
                                frame["capabilities"] = {"rc", "write", "bw"};
                            frame.erase("ordering");
                        }});
        auto client = Client::start(verbs, wire.control(pair.stop), options());
        ASSERT_TRUE(client) << client.error().message();
        const auto plain = conduct({&*client, 1}, point(Verb::Write, Mode::Bandwidth));
        ASSERT_TRUE(plain) << plain.error().message();
        EXPECT_EQ(plain->server_ordering, Ordering::Strict);
        EXPECT_EQ(plain->checked.messages, 3 * plain->point.slots) << "only rounds of messages";
        Point wanted = point(Verb::Write, Mode::Bandwidth);
        wanted.marks.traffic_class = 104;
        const auto refused = refusal(conduct({&*client, 1}, wanted));
        EXPECT_THAT(refused.message(), HasSubstr("does not know the setting 'marks'"));
        EXPECT_THAT(refused.fix, HasSubstr("upgrade rdma-perf on the peer"));
    }
    (void)pair.outcome();
}

// As one of version 1 speaks: all that it has is asked of it, but what means something else now.
TEST(OlderServer, OfVersionOneIsAskedForAllButWhatHasChanged) {
    FakeVerbs verbs;
    Pair pair(verbs, options());
    {
        test::Wire wire(pair.control(), {.answered = [](base::Json& frame) {
                            if (frame["type"] == "hello") {
                                frame["protocol"] = 1;
                                frame["capabilities"] = {"rc", "uc", "ud", "write", "bw", "lat"};
                            }
                            frame.erase("ordering");
                            frame.erase("reads");
                        }});
        auto client = Client::start(verbs, wire.control(pair.stop), options());
        ASSERT_TRUE(client) << client.error().message();
        for (const Point& p : {point(Verb::Write, Mode::Bandwidth),
                               point(Verb::Write, Mode::Latency, 500, Transport::Uc),
                               point(Verb::WriteImm, Mode::Bandwidth, 500, Transport::Uc),
                               point(Verb::Send, Mode::Bandwidth, 500, Transport::Ud)}) {
            const auto result = conduct({&*client, 1}, p);
            ASSERT_TRUE(result) << describe(p) << ": " << result.error().message();
            EXPECT_FALSE(result->checked.wrong) << describe(p);
        }
        const auto refused = refusal(
            conduct({&*client, 1}, point(Verb::Write, Mode::Bandwidth, 500, Transport::Uc)));
        EXPECT_THAT(refused.message(), HasSubstr("needs protocol 2, and the server"));
        EXPECT_EQ(refused.fix, "upgrade rdma-perf on the server");
    }
    (void)pair.outcome();
}

TEST(OlderServer, OfTwoVersionsBackIsRefused) {
    FakeVerbs verbs;
    Pair pair(verbs, options());
    {
        test::Wire wire(pair.control(),
                        {.answered = [](base::Json& frame) { frame["protocol"] = kProtocol - 2; }});
        const auto client = Client::start(verbs, wire.control(pair.stop), options());
        ASSERT_FALSE(client);
        EXPECT_EQ(client.error().code, base::Code::BadInput);
        EXPECT_EQ(client.error().fix, "upgrade rdma-perf on the server");
    }
    (void)pair.outcome();
}

// One of version 1 takes no number but its own: its first answer is a refusal.
TEST(OlderServer, OfVersionOneIsAskedAgainInItsOwn) {
    FakeVerbs verbs;
    const Stop stop_server;
    Stop stop;
    const Listener listener = std::move(listen_on({"127.0.0.1"}, 0).value().front());
    const std::jthread server([&] {
        const auto next = [&]() -> base::UniqueFd {
            if (!wait_ready(listener.fd.get(), POLLIN, base::Deadline::in(10s), stop_server))
                return {};
            auto caller = accept_from(listener);
            return caller && *caller ? std::move(**caller) : base::UniqueFd();
        };
        {
            Control first(next(), stop_server);
            const auto hello = first.receive(base::Deadline::in(10s));
            ASSERT_TRUE(hello) << hello.error().message();
            EXPECT_EQ(hello->value("protocol", 0), kProtocol);
            const auto refused =
                base::make_error(base::Code::BadInput,
                                 "protocol 1 here (version 0.1.0), 2 at the peer (version 0.1.0)");
            EXPECT_TRUE(first.send(error_message(refused), base::Deadline::in(10s)));
        }
        Served served;
        (void)serve_session(verbs, Control(next(), stop_server), options(), served);
    });
    const std::vector<std::string> hosts = {"127.0.0.1"};
    const auto clients =
        connect_clients(hosts, listener.port, options(), {verbs, stop, stdout, stderr}, false);
    ASSERT_TRUE(clients) << clients.error().message();
    EXPECT_EQ(clients->front().server().protocol, 1);
}

// A client of version 1 takes no number but its own as the answer.
TEST(OlderClient, OfVersionOneIsServed) {
    FakeVerbs verbs;
    Pair pair(verbs, options());
    {
        SideOptions older = options();
        older.protocol = 1;
        auto client = Client::start(verbs, pair.control(), older);
        ASSERT_TRUE(client) << client.error().message();
        EXPECT_EQ(client->server().protocol, 1);
        const auto result = conduct({&*client, 1}, point(Verb::Write, Mode::Bandwidth));
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->checked.messages, messages_checked(result->point));
    }
    EXPECT_TRUE(pair.outcome());
}

// Its other servers verify one after the other, each for as long as the point lasts.
TEST(VerifyFull, OfManyServersIsWaitedFor) {
    FakeVerbs verbs;
    SideOptions side = options();
    side.pause = 100ms;
    Pair first(verbs, side);
    Pair second(verbs, side);
    {
        std::vector<Client> clients;
        clients.push_back(first.client(verbs).value());
        clients.push_back(second.client(verbs).value());
        Point wanted = point(Verb::Write, Mode::Bandwidth, 64);
        wanted.iterations = 0;
        wanted.time_ms = 400;
        wanted.verify = Verify::Full;
        const auto result = conduct(clients, wanted);
        EXPECT_TRUE(result) << result.error().message();
    }
    (void)first.outcome();
    (void)second.outcome();
}

TEST(Reading, IsTakenAgainIfItTookLong) {
    int tries = 0;
    const Reading seen = read_in_time([&]() -> uint64_t {
        const uint64_t begin = now_ns();
        while (++tries == 1 && now_ns() - begin < 1'000'000)
            tries = 0;
        return static_cast<uint64_t>(tries);
    });
    EXPECT_GT(seen.count, 1U);
    EXPECT_LE(seen.at_ns, now_ns());
}

// By iterations a stream that is done leaves the link to the others: rates of different times do
// not add up.
TEST(Rate, OfStreamsByIterationsIsOverTheLongest) {
    const std::vector<Part> parts = {Part{.messages = 100, .elapsed_ns = 1'000'000'000},
                                     Part{.client = 1, .messages = 100, .elapsed_ns = 500'000'000}};
    EXPECT_DOUBLE_EQ(messages_per_second(sum_of(parts)), 300);
    EXPECT_DOUBLE_EQ(messages_per_second(sum_of(parts, false)), 200);
}

TEST(RingMemory, IsBoundedWithItsGuards) {
    Point wanted{.size = 4096, .qps = 256, .depth = 256, .slots = 256, .iterations = 1000};
    EXPECT_FALSE(check_limits(wanted)) << "256 MiB of messages, twice as much memory";
    wanted.slots = 128;
    EXPECT_TRUE(check_limits(wanted));
    EXPECT_EQ(layout_of(wanted, Side::Client).out.stride, stride_of(wanted, 0));
}

TEST(Seed, IsExactAsADouble) {
    for (int i = 0; i < 100; ++i)
        EXPECT_LT(random_seed(), uint64_t{1} << 53U);
}

TEST(AdapterOptions, AreOfThePlan) {
    const auto plan = [](std::vector<const char*> words) {
        words.insert(words.begin(), {"rdma-perf", "run", "h"});
        auto command = parse_command_line(static_cast<int>(words.size()), words.data());
        EXPECT_TRUE(command) << command.error().message();
        return command ? std::get<RunOptions>(*command).measure.plan : Plan{};
    };
    EXPECT_EQ(plan({}).orderings, std::vector{Ordering::Relaxed});
    EXPECT_EQ(plan({"--ordering", "relaxed,strict"}).orderings,
              (std::vector{Ordering::Relaxed, Ordering::Strict}));
    EXPECT_EQ(
        plan({"--tclass", "106", "--sl", "3", "--flow-label", "70000", "--pkey-index", "2"}).marks,
        (Marks{.traffic_class = 106, .service_level = 3, .flow_label = 70000, .pkey_index = 2}));
    EXPECT_EQ(plan({"--dscp", "26"}).marks.traffic_class, 104U);
    EXPECT_EQ(plan({"--reads", "64"}).reads, 64U);
    EXPECT_EQ(plan({"--inline", "0"}).inline_bytes, 0U);
    EXPECT_FALSE(plan({"--inline", "auto"}).inline_bytes);
    EXPECT_EQ(plan({"--mode", "bw", "--signal", "32"}).signal, 32U);
    EXPECT_EQ(plan({"--ring", "2M"}).ring_bytes, 2U << 20U);
    EXPECT_EQ(plan({"--ring", "auto"}).ring_bytes, 0U);
    for (const auto& [option, value] : {std::pair("--tclass", "256"),
                                        {"--dscp", "64"},
                                        {"--sl", "16"},
                                        {"--flow-label", "1048576"},
                                        {"--pkey-index", "65536"},
                                        {"--reads", "0"},
                                        {"--reads", "256"},
                                        {"--inline", "5000"},
                                        {"--signal", "0"},
                                        {"--signal", "3"},
                                        {"--ring", "0"},
                                        {"--ordering", "loose"}}) {
        const char* words[] = {"rdma-perf", "run", "h", option, value};
        const auto command = parse_command_line(5, words);
        ASSERT_FALSE(command) << option << " " << value;
        EXPECT_EQ(command.error().code, base::Code::Usage) << option;
    }
    const char* both[] = {"rdma-perf", "run", "h", "--tclass", "4", "--dscp", "1"};
    EXPECT_FALSE(parse_command_line(7, both));
    const char* by_cm[] = {"rdma-perf", "run", "h", "--cm", "--pkey-index", "1"};
    EXPECT_FALSE(parse_command_line(6, by_cm));
}

// Completions may come one after the other for as long as a peer likes.
TEST(Loops, AreAbortedAmongCompletions) {
    for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
        FakeVerbs verbs;
        Pair pair(verbs);
        {
            auto client = pair.client(verbs);
            ASSERT_TRUE(client) << client.error().message();
            Point wanted = point(Verb::Read, mode);
            wanted.iterations = 0;
            wanted.time_ms = kMaxTimeMs;
            wanted.verify = Verify::Off;
            ASSERT_TRUE(client->open(wanted));
            ASSERT_TRUE(client->begin());
            // The client aborts what runs; a thread that misses that would run for an hour.
        }
        (void)pair.outcome();
        EXPECT_EQ(verbs.objects(), 0U);
    }
}

}  // namespace
}  // namespace perf
