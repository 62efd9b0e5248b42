// SPDX-License-Identifier: Apache-2.0
// Nobody waits for a stranger: a crowded host, on which one process that is stopped, or stuck in
// the kernel, keeps one lock. What the others take is printed.
#include <csignal>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook/container/into_running.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

constexpr int kContainers = 300;
constexpr std::chrono::seconds kAtMost{2};  // more than without

using Milliseconds = std::chrono::duration<double, std::milli>;

Milliseconds time_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - begin;
}

// A process that has a lock and does nothing more.
class Stopped {
  public:
    explicit Stopped(const std::function<base::Result<base::FileLock>()>& take) : pid_(::fork()) {
        if (pid_ == 0) {
            const auto lock = take();
            (void)::raise(lock ? SIGSTOP : SIGKILL);
            ::_exit(1);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
        EXPECT_TRUE(WIFSTOPPED(status)) << "it has no lock";
    }

    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    Stopped(Stopped&&) = delete;
    Stopped& operator=(Stopped&&) = delete;

    ~Stopped() {
        (void)::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
    }

  private:
    pid_t pid_;
};

class Strangers : public Containers {
  protected:
    Strangers() {
        EXPECT_TRUE(store_.open());
        const auto alive = fake_.processes.token(World::kContainer);
        for (int i = 0; i < kContainers; ++i)
            add_record(i, **alive);
    }

    static std::string bundle(int number) { return fmt::format("/bundles/{}", number); }

    static std::string akey(int number) {
        return hook::attachment_key({4, 0xe0000000U + static_cast<unsigned>(number)}, "rdma0");
    }

    // Of a container that runs, as far as its record and its journal say.
    void add_record(int number, const netns::ProcessToken& token) {
        fake_.world.files.insert(bundle(number));
        const std::string key = hook::container_key(bundle(number));
        EXPECT_TRUE(store_.save_container({.key = key,
                                           .bundle = bundle(number),
                                           .id = key,
                                           .committed = true,
                                           .token = token,
                                           .attachments = {akey(number)},
                                           .created = 1}));
        EXPECT_TRUE(save_journal(store_,
                                 {.key = akey(number),
                                  .attachment = base::Json::object(),
                                  .made = true,
                                  .holders = {key}}));
    }

    // A start, an end, gc and regrant; their times, of which the first is the start's.
    std::vector<Milliseconds> all_of_it(const std::string& id, std::vector<std::string>& locked) {
        Life life = container(id, {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
        netns::Host host = fake_.host();
        const hook::Context context{host, state_.config(), store_};
        std::vector<Milliseconds> times;
        times.push_back(time_of([&] { EXPECT_TRUE(life.start()); }));
        times.push_back(time_of([&] { EXPECT_TRUE(life.poststop()); }));
        times.push_back(time_of([&] {
            const auto collected = collect(fake_, state_);
            EXPECT_EQ(collected.trouble, std::vector<std::string>{});
            EXPECT_EQ(collected.containers, std::vector<std::string>{});
            locked = collected.locked;
        }));
        times.push_back(time_of([&] { EXPECT_TRUE(hook::regrant(context).trouble.empty()); }));
        return times;
    }

    void expect_no_wait(const std::function<base::Result<base::FileLock>()>& lock,
                        const std::string& name) {
        std::vector<std::string> locked;
        const auto without = all_of_it("one", locked);
        EXPECT_EQ(locked, std::vector<std::string>{});
        const Stopped stopped{lock};
        const auto with = all_of_it("two", locked);
        EXPECT_EQ(locked, std::vector<std::string>{name});
        const char* const what[] = {"start", "end", "gc", "regrant"};
        for (size_t i = 0; i < with.size(); ++i) {
            fmt::print("{} live containers, {}: {:.1f} ms, with one lock kept {:.1f} ms\n",
                       kContainers,
                       what[i],
                       without[i].count(),
                       with[i].count());
            EXPECT_LT(with[i] - without[i], kAtMost) << what[i];
        }
    }

    hook::Store store_{fake_.files, state_.path()};
};

TEST_F(Strangers, AnAttachmentsLockIsNobodyElses) {
    expect_no_wait(
        [&] { return store_.lock_attachment(akey(kContainers / 2), base::Deadline::now()); },
        "attachment " + akey(kContainers / 2));
}

TEST_F(Strangers, AContainersLockIsNobodyElses) {
    const std::string key = hook::container_key(bundle(kContainers / 2));
    expect_no_wait([&] { return store_.lock_container(key, base::Deadline::now()); },
                   "container " + key);
}

}  // namespace
}  // namespace test
