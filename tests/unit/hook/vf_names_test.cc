// SPDX-License-Identifier: Apache-2.0
// Names of the kernel's that change hands: of two VFs that are bound at the same time each may come
// back under the name of the other.
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>

#include "tests/unit/hook/vf_life.h"

namespace test {
namespace {

// Two programs at once, of which one goes on at a time: the first until its call number at[0] of
// those that binding and naming are made of, the second until its at[1], then the first to its end.
// One that waits for others lets the other go on.
class Turns {
  public:
    Turns(Gate& gate, std::array<int, 2> at) : gate_(gate), at_(at) {}

    void run(const std::array<std::function<void()>, 2>& programs) {
        gate_.meanwhile = [this](int) { meet(); };
        gate_.others = [this] { hand_over(); };
        std::thread second([&] {
            wait_for_turn(1);
            programs[1]();
            end(1);
        });
        programs[0]();
        end(0);
        second.join();
        gate_.meanwhile = nullptr;
        gate_.others = nullptr;
    }

    // Each was met before its end.
    [[nodiscard]] bool met(size_t program) const { return seen_[program] > at_[program]; }

  private:
    void meet() {
        static constexpr std::array kKinds = {
            "unbind ", "bind ", "rename ", "move ", "change ", "raise "};
        const std::string& call = gate_.calls().back();
        if (std::ranges::none_of(kKinds, [&](const char* kind) { return call.starts_with(kind); }))
            return;
        if (seen_[turn_]++ != at_[turn_])
            return;
        gate_.meanwhile = [this](int) { meet(); };  // the other one is to be met, too
        hand_over();
    }

    void hand_over() {
        const size_t self = turn_;
        if (ended_[1 - self])
            return;
        give(1 - self);
        wait_for_turn(self);
    }

    void end(size_t self) {
        ended_[self] = true;
        give(1 - self);
    }

    void give(size_t to) {
        const std::lock_guard held(mutex_);
        turn_ = to;
        changed_.notify_all();
    }

    void wait_for_turn(size_t self) {
        std::unique_lock held(mutex_);
        changed_.wait(held, [&] { return turn_ == self; });
    }

    Gate& gate_;
    std::array<int, 2> at_;
    std::array<int, 2> seen_{};
    std::array<bool, 2> ended_{};
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t turn_ = 0;
};

class VfNames : public VfLife {
  protected:
    Life bound_again(uint32_t number) {
        const std::string last = std::to_string(number);
        Life life = container("c" + std::to_string(lives_++), "enp59s0#" + last);
        life.annotations["rdma.mac"] = "02:00:5e:10:00:0" + last;
        return life;
    }

    FakeRdma& device(uint32_t number) {
        for (auto& [index, each] : fake_.world.rdma) {
            if (each.pci == vf(number, kMlx))
                return each;
        }
        ADD_FAILURE() << "VF " << number << " has no RDMA device";
        return fake_.world.rdma.begin()->second;
    }

    std::string& name(uint32_t number) { return device(number).device.name; }

    void expect_all_as_before() {
        EXPECT_EQ(garbage(), std::vector<std::string>{});
        expect_nothing_kept();
        for (const uint32_t number : {0U, 1U}) {
            expect_as_before(vf(number, kMlx));
            EXPECT_EQ(name(number), "mlx5_" + std::to_string(number + 1));
        }
    }

    int lives_ = 0;
};

// A program that runs has the name: it keeps that.
TEST_F(VfNames, ADeviceWhoseNameIsTakenIsCalledByItsAddress) {
    Life one = bound_again(0);
    Life two = bound_again(1);
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    std::swap(name(0), name(1));
    const auto stopped = one.poststop();
    ASSERT_TRUE(stopped) << stopped.error().message();
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    EXPECT_EQ(name(0), "vf00003b001");
    EXPECT_EQ(name(1), "mlx5_1");
    Life three = bound_again(0);
    const auto started = three.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(three.environment("RDMA_DEVICE"), "vf00003b001");
    ASSERT_TRUE(two.poststop());
    EXPECT_EQ(name(1), "mlx5_2") << "it was let go of";
    ASSERT_TRUE(three.poststop());
    EXPECT_EQ(name(0), "vf00003b001");
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    expect_nothing_kept();
}

// Both names may be taken: the kernel's stays.
TEST_F(VfNames, ADeviceWhoseAddressIsANameAlreadyKeepsTheKernels) {
    Life one = bound_again(0);
    ASSERT_TRUE(one.start());
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "vf00003b001", "rxe");
    name(0) = "mlx5_7";
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "mlx5_1", "siw");
    const auto stopped = one.poststop();
    ASSERT_TRUE(stopped) << stopped.error().message();
    EXPECT_EQ(garbage(), std::vector<std::string>{});
    EXPECT_EQ(name(0), "mlx5_3") << "the first that was free";
    expect_nothing_kept();
}

// In mode exclusive a name belongs to a namespace (7.3). The device must not stay in the dead one.
TEST_F(VfNames, ADeviceComesBackThoughItsNameIsAnothersOnTheHost) {
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life one = container("one", "enp59s0#0");
    ASSERT_TRUE(one.start());
    name(0) = "mlx5_0";  // the PF's
    const auto stopped = one.poststop();
    ASSERT_TRUE(stopped) << stopped.error().message();
    expect_all_as_before();
}

// The name and the index that the netdev had are looked up before it is moved.
TEST_F(VfNames, ANetdevComesBackThoughItsNameAndIndexWereTakenJustThen) {
    Life one = container("one", "enp59s0#0");
    for (const bool index : {false, true}) {
        const netns::Link before = netdev(vf(0, kMlx));
        ASSERT_TRUE(one.start());
        netns::Link rival;
        rival.name = index ? "dummy0" : before.name;
        rival.index = index ? before.index : 77;
        rival.kind = "dummy";
        fake_.gate.meanwhile = [&](int) {
            const bool moves = fake_.gate.calls().back().starts_with("move link");
            if (moves && fake_.world.find_link(fake_.world.host, rival.index) == nullptr)
                fake_.world.add_link(fake_.world.host, rival);
        };
        EXPECT_EQ(one.poststop().has_value(), index);
        fake_.gate.meanwhile = nullptr;
        EXPECT_EQ(place(vf(0, kMlx)), fake_.world.host) << "out of the dead container";
        fake_.world.destroy_link(fake_.world.host, rival.index);
        expect_all_as_before();
    }
}

// Somebody binds the VF again while the plan is on its way, and its old index is another's by then.
TEST_F(VfNames, WhatIsMovedIsTheVfsOwnNetdev) {
    Life one = container("one", "enp59s0#0");
    const uint32_t index = netdev(vf(0, kMlx)).index;
    bool bound = false;
    fake_.gate.meanwhile = [&](int) {
        if (bound || !fake_.gate.calls().back().starts_with("pin "))
            return;
        bound = true;
        fake_.world.unbind(vf(0, kMlx));
        netns::Link rival;
        rival.name = "uplink0";
        rival.index = index;
        fake_.world.add_link(fake_.world.host, rival);
        fake_.world.bind(vf(0, kMlx));
    };
    const auto started = one.start();
    fake_.gate.meanwhile = nullptr;
    ASSERT_TRUE(started) << started.error().message();
    ASSERT_TRUE(bound);
    EXPECT_EQ(place(vf(0, kMlx)), netns_of(one));
    EXPECT_EQ(fake_.world.find_link(fake_.world.host, index)->link.name, "uplink0");
    ASSERT_TRUE(one.poststop());
    expect_all_as_before();
    EXPECT_EQ(fake_.world.find_link(fake_.world.host, index)->link.name, "uplink0");
}

// Wherever the one and the other are when they meet.
class TwoAtOnce : public VfNames,
                  public testing::WithParamInterface<std::tuple<netns::RdmaNetnsMode, bool>> {
  protected:
    TwoAtOnce() {
        fake_.world.mode = std::get<netns::RdmaNetnsMode>(GetParam());
        if (std::get<bool>(GetParam())) {  // a host without udev: they have the kernel's names
            netdev(vf(0, kMlx)).name = "eth1";
            netdev(vf(1, kMlx)).name = "eth2";
        }
        start_ = fake_.world;
    }

    // `phase` of both at once; which of them were met before their end.
    std::array<bool, 2> live(std::array<int, 2> at,
                             const std::function<void(Life&)>& before,
                             const std::function<void(Life&)>& phase,
                             const std::function<void(Life&)>& after) {
        SCOPED_TRACE(testing::Message() << at[0] << ", " << at[1]);
        fake_.world = start_;
        fake_.gate.restart();
        std::array lives{bound_again(0), bound_again(1)};
        for (Life& life : lives) {
            life.capabilities = {"CAP_NET_ADMIN"};
            before(life);
        }
        Turns turns{fake_.gate, at};
        turns.run({[&] { phase(lives[0]); }, [&] { phase(lives[1]); }});
        for (Life& life : lives)
            after(life);
        expect_all_as_before();
        return {turns.met(0), turns.met(1)};
    }

    void at_every_pair(const std::function<void(Life&)>& before,
                       const std::function<void(Life&)>& phase,
                       const std::function<void(Life&)>& after) {
        std::array<bool, 2> met{true, true};
        int pairs = 0;
        for (int first = 0; met[0] && !HasFailure(); ++first) {
            met[1] = true;
            for (int second = 0; met[0] && met[1] && !HasFailure(); ++second, ++pairs)
                met = live({first, second}, before, phase, after);
        }
        EXPECT_GT(pairs, 9);
    }
};

void start(Life& life) {
    const auto started = life.start();
    EXPECT_TRUE(started) << started.error().message();
}

void stop(Life& life) {
    const auto stopped = life.poststop();
    EXPECT_TRUE(stopped) << stopped.error().message();
}

TEST_P(TwoAtOnce, BeginAndBothHaveTheirNamesAfterwards) {
    at_every_pair([](Life&) {}, start, stop);
}

TEST_P(TwoAtOnce, EndAndBothHaveTheirNames) {
    at_every_pair(start, stop, [](Life&) {});
}

std::string name_of(const testing::TestParamInfo<std::tuple<netns::RdmaNetnsMode, bool>>& info) {
    const auto [mode, kernels] = info.param;
    return std::string(mode == netns::RdmaNetnsMode::Shared ? "shared" : "exclusive") +
           (kernels ? "_kernels_names" : "_udevs_names");
}

INSTANTIATE_TEST_SUITE_P(VfNames,
                         TwoAtOnce,
                         testing::Combine(testing::Values(netns::RdmaNetnsMode::Shared,
                                                          netns::RdmaNetnsMode::Exclusive),
                                          testing::Bool()),
                         name_of);

}  // namespace
}  // namespace test
