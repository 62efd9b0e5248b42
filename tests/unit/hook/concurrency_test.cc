// SPDX-License-Identifier: Apache-2.0
// Others at the same time, at every moment of a container's life: gc, a second hook for the same
// container, another container's attach. They are processes of their own over the same state on
// disk, and are killed where they wait for us. And what looks like the same thing, and is another:
// clocks that jump, pids and ids that come again.
#include <csignal>
#include <fstream>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/file_lock.h"
#include "netns/base/unique_fd.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

enum class Ended { Itself, Killed };

// Runs `work` in a process of its own for so long at most, then kills it: as it waits for a lock,
// or wherever it is.
Ended meanwhile(const std::function<void()>& work, int patience_ms) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        work();
        ::_exit(0);
    }
    const base::UniqueFd end{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    pollfd ready{.fd = end.get(), .events = POLLIN, .revents = 0};
    const bool ended = ::poll(&ready, 1, patience_ms) == 1;
    (void)::kill(pid, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(!ended || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
    return ended ? Ended::Itself : Ended::Killed;
}

class Concurrency : public Containers {
  protected:
    // A life with `other` in another process at its call `k`; false if there is no such call.
    bool live(int k, const std::function<void()>& other, const std::function<void(Life&)>& check) {
        Life one = softroce("one" + std::to_string(k), "10.9.0.1/24");
        bool reached = false;
        fake_.gate.restart();
        fake_.gate.meanwhile = [&](int call) {
            if (call != k)
                return;
            reached = true;
            waited_ += meanwhile(other, patience_ms_) == Ended::Killed ? 1 : 0;
            ++met_;
        };
        check(one);
        fake_.gate.meanwhile = nullptr;
        expect_nothing_left();
        return reached;
    }

    int patience_ms_ = 40;
    int met_ = 0;     // others
    int waited_ = 0;  // those of them that were killed as they waited
};

TEST_F(Concurrency, GcTakesNothingFromTheLivingAtAnyMoment) {
    const auto gc = [&] { (void)collect(fake_, state_); };
    const auto whole_life = [](Life& one) {
        EXPECT_TRUE(one.start());
        EXPECT_TRUE(one.poststop());
    };
    patience_ms_ = 10'000;
    for (int k = 0; live(k, gc, whole_life); ++k) {
    }
    EXPECT_GE(met_, 20);
    EXPECT_EQ(waited_, 0) << "nor does it wait for an attachment that is being worked on";
}

// Each lock that gc wants, kept by a process that does nothing.
TEST_F(Concurrency, GcNamesWhatItCannotLockAndGoesOn) {
    Life one = softroce("one", "10.9.0.1/24");
    Life two = softroce("two", "10.9.0.2/24");
    ASSERT_TRUE(one.start() && two.start());
    netns::Host host = fake_.host();
    const hook::Store store{host.files, state_.path()};
    const std::string akey =
        store.load_container(hook::container_key(one.bundle())).value()->attachments.front();
    fake_.world.processes.erase(one.init);
    fake_.world.processes.erase(two.init);
    const std::vector<std::string> attachment{"attachment " + akey};
    {
        const auto held = store.lock_attachment(akey, base::Deadline::now());
        const auto collected = collect(fake_, state_);
        EXPECT_EQ(collected.locked, attachment);
        EXPECT_EQ(collected.containers.size(), 2U);
        EXPECT_EQ(collected.trouble, std::vector<std::string>{});
        EXPECT_EQ(fake_.world.rdma.size(), 1U) << "the other one's is gone";
        ASSERT_TRUE(fake_.files.remove(store.journal_path(akey)));
        const auto again = collect(fake_, state_);
        EXPECT_EQ(again.locked, attachment) << "once, for its lease and its pin";
        EXPECT_EQ(again.leftovers, std::vector<std::string>{});
    }
    EXPECT_EQ(collect(fake_, state_).leftovers.size(), 1U) << "its lease";
    Life three = softroce("three", "10.9.0.3/24");
    ASSERT_TRUE(three.start());
    fake_.world.processes.erase(three.init);
    const std::string key = hook::container_key(three.bundle());
    const auto held = store.lock_container(key, base::Deadline::now());
    const auto collected = collect(fake_, state_);
    EXPECT_EQ(collected.locked, std::vector<std::string>{"container " + key});
    EXPECT_EQ(collected.containers, std::vector<std::string>{});
    EXPECT_TRUE(*store.load_container(key)) << "whoever has the lock goes on with it";
}

// A container that starts has no more time for dead ones than its engine gives it.
TEST_F(Concurrency, TheDeadOfOthersAreUndoneUntilADeadline) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.precreate());
    fake_.world.processes.erase(World::kEngine);
    netns::Host host = fake_.host();
    const hook::Context context{host, state_.config(), hook::Store{host.files, state_.path()}};
    ASSERT_TRUE(hook::sweep_pending(context, base::Deadline::now()));
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    const auto late = hook::collect_garbage(context, base::Deadline::now());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_EQ(late.trouble.size(), 1U);
    EXPECT_NE(late.trouble.front().find("2 containers and attachments"), std::string::npos);
    ASSERT_TRUE(hook::sweep_pending(context));
    expect_nothing_left();
}

// Records that somebody removed by hand leave what containers were shown.
TEST_F(Concurrency, WhatARemovedRecordLeftIsCollected) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    Life two = softroce("two", "10.9.0.2/24");
    ASSERT_TRUE(two.start());
    const std::string key = hook::container_key(one.bundle());
    ASSERT_TRUE(fake_.files.remove(state_.path() + "/containers/" + key + ".json"));
    ASSERT_TRUE(fake_.files.make_dir(state_.path() + "/view/" + key + "/infiniband"));
    ASSERT_TRUE(fake_.files.make_link(state_.path() + "/view/" + key + "/infiniband/rxe0", "../x"));
    EXPECT_TRUE(collect(fake_, state_).trouble.empty());
    EXPECT_TRUE(two.poststop()) << "and takes nothing from the living";
    expect_nothing_left();
}

TEST_F(Concurrency, ASecondHookOfTheSameContainerSpoilsNothing) {
    for (int k = 0;; ++k) {
        SCOPED_TRACE(k);
        Life* first = nullptr;
        const auto second = [&] {
            Life again = *first;
            (void)again.precreate();
        };
        const auto check = [&](Life& one) {
            first = &one;
            if (const auto started = one.start(); !started) {
                // The second was the last to prepare the container: it is that one's now.
                EXPECT_TRUE(started.error().code == base::Code::Refused ||
                            started.error().code == base::Code::Busy)
                    << started.error().message();
                fake_.world.processes.erase(one.init);
                fake_.world.processes.erase(World::kEngine);
                EXPECT_TRUE(collect(fake_, state_).trouble.empty());
                fake_.world.add_process(World::kEngine, fake_.world.host);
                return;
            }
            EXPECT_TRUE(one.poststop());
        };
        if (!live(k, second, check))
            break;
    }
    EXPECT_GE(met_, 20);
    EXPECT_GE(waited_, 10) << "the container's lock keeps it out";
}

TEST_F(Concurrency, AnotherContainersAttachThatIsKilledAtAnyMomentIsUndone) {
    const auto other = [&] {
        Life two = softroce("two", "10.9.0.2/24");
        fake_.gate.meanwhile = [](int) { (void)::usleep(2000); };  // so that it is killed somewhere
        (void)two.start();
    };
    const auto check = [&](Life& one) {
        EXPECT_TRUE(one.start());
        EXPECT_TRUE(one.poststop());
        // Its engine went with it; its world was its own.
        fake_.world.processes.erase(World::kEngine);
        EXPECT_TRUE(collect(fake_, state_).trouble.empty());
        fake_.world.add_process(World::kEngine, fake_.world.host);
    };
    for (int k = 0; live(k, other, check); ++k) {
    }
    EXPECT_GE(met_, 20);
}

// The engine died after precreate, and the runtime goes on; or a plain hook takes longer than any
// create may. gc may come in the middle.
TEST_F(Concurrency, AStartWhoseRdmaGcHasTakenBackIsRefused) {
    for (const bool plain : {false, true}) {
        bool reached = true;
        for (int k = 0; reached; ++k) {
            SCOPED_TRACE(k);
            Life one = softroce("one" + std::to_string(k), "10.9.0.1/24");
            one.plain = plain;
            ASSERT_TRUE(one.precreate());
            if (!plain)
                fake_.world.processes.erase(World::kEngine);
            reached = false;
            fake_.gate.restart();
            fake_.gate.meanwhile = [&](int call) {
                if (call != k || reached)
                    return;
                reached = true;
                fake_.gate.meanwhile = nullptr;
                fake_.world.uptime += plain ? hook::kCreateTimeout : std::chrono::seconds(0);
                (void)collect(fake_, state_);
            };
            const auto started = one.create_runtime();
            fake_.gate.meanwhile = nullptr;
            EXPECT_EQ(started.has_value(), fake_.world.rdma.size() == 1);
            fake_.world.processes.erase(one.init);
            EXPECT_TRUE(collect(fake_, state_).trouble.empty());
            expect_nothing_left();
            fake_.world.add_process(World::kEngine, fake_.world.host);
            met_ += started ? 0 : 1;
        }
        EXPECT_GE(std::exchange(met_, 0), 1);
    }
}

// A neighbour's hook was killed in the middle, and its engine goes on to the next of the pod.
TEST_F(Concurrency, WhatIsHalfMadeIsNotJoined) {
    const auto pod = [&](const std::string& id) {
        Life life = softroce(id, "10.9.0.1/24");
        life.annotations["rdma.gateway"] = "10.9.0.254";
        life.network = World::kContainerPath;
        return life;
    };
    const auto made = [&] {
        const auto& ns =
            fake_.world.namespaces.at(fake_.world.engine_paths.at(World::kContainerPath));
        return std::tuple{
            fake_.world.rdma.size(), ns.links.size(), ns.routes.size(), ns.rules.size()};
    };
    Life alone = pod("alone");
    ASSERT_TRUE(alone.start());
    const auto whole = made();
    ASSERT_TRUE(alone.poststop());
    for (int k = 0;; ++k) {
        SCOPED_TRACE(k);
        Life killed = pod("killed" + std::to_string(k));
        fake_.gate.restart();
        fake_.gate.crash_after(k);
        bool crashed = false;
        try {
            ASSERT_TRUE(killed.precreate());
        } catch (const Crash&) {
            crashed = true;
        }
        fake_.gate.restart();
        Life next = pod("next" + std::to_string(k));
        const auto started = next.start();
        EXPECT_TRUE(started) << started.error().message();
        EXPECT_EQ(made(), whole);
        EXPECT_TRUE(next.poststop());
        fake_.world.processes.erase(World::kEngine);
        EXPECT_TRUE(collect(fake_, state_).trouble.empty());
        expect_nothing_left();
        fake_.world.add_process(World::kEngine, fake_.world.host);
        if (!crashed)
            break;
        ++met_;
    }
    EXPECT_GE(met_, 10);
}

// Between gc's look at a lease and its removal another container may have been given it.
TEST_F(Concurrency, GcLooksAtALeaseOnceMoreUnderItsLock) {
    ASSERT_TRUE(softroce("zero", "10.9.0.9/24").start());  // the folders are there
    const std::string lease =
        state_.path() + "/leases/" + std::to_string(World::kHostLink) + "-10.9.0.1";
    ASSERT_TRUE(fake_.files.write(lease, "4-f0000001-0123456789ab"));  // of an owner that is gone
    Life two = softroce("two", "10.9.0.1/24");
    bool once = false;
    fake_.files.after_read = [&](const std::string& path) {
        if (path != lease || once)
            return;
        once = true;
        ASSERT_TRUE(fake_.files.remove(lease));
        ASSERT_TRUE(two.start());
    };
    const auto collected = collect(fake_, state_);
    fake_.files.after_read = nullptr;
    EXPECT_TRUE(once);
    EXPECT_EQ(collected.leftovers, std::vector<std::string>{});
    EXPECT_TRUE(fake_.files.read(lease, 100)) << "it is the second container's";
}

TEST(Locks, TheKilledHoldNoneAndWaitForNone) {
    const TempDir dir;
    const std::string path = dir / "lock";
    const auto far = [] { return base::Deadline::in(std::chrono::seconds(20)); };
    const auto hold_for_ever = [&] {
        const auto lock = base::FileLock::acquire(path, far());
        for (;;)
            (void)::pause();
    };
    EXPECT_EQ(meanwhile(hold_for_ever, 200), Ended::Killed) << "it had it";
    auto mine = base::FileLock::acquire(path, base::Deadline::now());
    ASSERT_TRUE(mine) << "a lock goes with its holder";
    EXPECT_EQ(meanwhile(hold_for_ever, 200), Ended::Killed) << "it waited";
    { const auto given_back = *std::move(mine); }
    EXPECT_TRUE(base::FileLock::acquire(path, base::Deadline::now()))
        << "who waited has left no trace";
}

TEST(Locks, WhoMayNotBeInterruptedWaitsNoLonger) {
    const TempDir dir;
    const std::string path = dir / "lock";
    const auto mine = base::FileLock::acquire(path, base::Deadline::now());
    ASSERT_TRUE(mine);
    const auto as_under_crun = [&] {
        sigset_t all;
        ::sigfillset(&all);
        (void)::sigprocmask(SIG_SETMASK, &all, nullptr);
        const auto lock =
            base::FileLock::acquire(path, base::Deadline::in(std::chrono::milliseconds(50)));
        sigset_t after;
        (void)::sigprocmask(SIG_SETMASK, nullptr, &after);
        sigset_t pending;
        (void)::sigpending(&pending);
        const bool good = !lock && lock.error().code == base::Code::Timeout &&
                          ::sigismember(&after, SIGALRM) == 1 &&
                          ::sigismember(&pending, SIGALRM) == 0;
        ::_exit(good ? 0 : 1);
    };
    EXPECT_EQ(meanwhile(as_under_crun, 10'000), Ended::Itself);
}

// ---- the same, and another
TEST_F(Concurrency, NothingIsDecidedByTheClock) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    netns::Host host = fake_.host();
    const hook::Store store{host.files, state_.path()};
    hook::Container record =
        store.load_container(hook::container_key(one.bundle())).value().value();
    for (const int64_t created : {INT64_MIN, int64_t{0}, INT64_MAX}) {
        record.created = created;
        ASSERT_TRUE(store.save_container(record));
        EXPECT_TRUE(collect(fake_, state_).containers.empty()) << "it lives";
    }
    fake_.world.processes.erase(one.init);
    EXPECT_EQ(collect(fake_, state_).containers.size(), 1U) << "it is dead";
    expect_nothing_left();
}

TEST_F(Concurrency, APidThatComesAgainIsAnotherProcess) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    FakeProcess& process = fake_.world.processes.at(one.init);
    process.start += 1;  // the init ended, and its pid went to somebody else
    EXPECT_EQ(collect(fake_, state_).containers.size(), 1U);
    expect_nothing_left();

    ASSERT_TRUE(one.precreate());
    fake_.world.processes.at(World::kEngine).start += 1;  // before commit: the engine's
    EXPECT_EQ(collect(fake_, state_).containers.size(), 1U);
    expect_nothing_left();
}

TEST_F(Concurrency, AnIdThatComesAgainAtOnceIsAnotherContainer) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    for (int i = 0; i < 3; ++i) {
        Life late = one;
        fake_.world.processes.erase(one.init);
        one.init += 1;
        one.network = "/run/netns/again" + std::to_string(i);
        fake_.world.engine_paths[one.network] = fake_.world.add_netns();
        ASSERT_TRUE(one.start()) << "same id, same bundle, another namespace";
        late.init = 99999;
        ASSERT_TRUE(late.poststop()) << "of the one before, late";
        EXPECT_EQ(fake_.world.rdma.size(), 1U);
        EXPECT_TRUE(collect(fake_, state_).containers.empty());
    }
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

}  // namespace
}  // namespace test
