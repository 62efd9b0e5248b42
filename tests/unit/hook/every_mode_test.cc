// SPDX-License-Identifier: Apache-2.0
// The chief test: each way to attach is taken through a container's life, and at every call that
// changes anything (in the kernel or on disk) that call once fails, once has its effect and reports
// failure, and once the program dies before and once after it. Each time the world and the state on
// disk must end as they began.
//
// Modes has every way, by the runtime. Plain hooks and rdmactl attach take the same ways again: the
// steps and their undo are those of Modes, what differs is who calls and where the container is. So
// a fault is tried there once at each kind of call of a mode between the same two neighbours, by
// the first way that has it. RDMA_TEST_FULL=1 tries it at every call of every way.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "hook/request/keys.h"
#include "tests/unit/hook/way.h"

namespace test {
namespace {

class EveryMode : public testing::TestWithParam<Way> {
  protected:
    // Runs the whole life with one fault, which arm() sets at call k. Returns false if k is past the
    // last call. The program may die of the fault; then the engine is gone, too, and gc runs.
    static bool live(const std::function<void(Gate&, int)>& arm, int k, StateDir& state) {
        const Way& way = GetParam();
        FakeHost fake{way.world};
        Life life{fake, state, "one"};
        take(way, life, state);
        World before = fake.world;
        arm(fake.gate, k);
        bool reached = false;
        try {
            run_life(way, life, fake);
            reached = fake.gate.mutating_calls() > k;
        } catch (const Crash&) {
            reached = true;
        }
        fake.settle();
        end_processes(life, fake.world);
        EXPECT_TRUE(collect(fake, state).trouble.empty()) << "call " << k;
        if (way.running)
            detach_again(life, fake, state);
        fake.settle();
        end_processes(life, before);
        before.settle();
        EXPECT_EQ(fake.world, before) << "call " << k << ":\n" << difference(before, fake.world);
        EXPECT_EQ(state.leftovers(), std::vector<std::string>{}) << "call " << k;
        return reached;
    }

    // Returns the state of a host on which a container with RDMA has run. To make its folders is
    // the same for all ways, and Way::first does.
    static std::unique_ptr<StateDir> state_dir(const Way& way = GetParam()) {
        auto state = std::make_unique<StateDir>();
        if (!way.first)
            state->prepare();
        return state;
    }

    // Takes the state to where the next life begins.
    static void next(std::unique_ptr<StateDir>& state) {
        if (GetParam().first || HasFailure())
            state = state_dir();
        else
            state->reuse();
    }

    // The program's death is that of the engine, too, and with it of the container. rdmactl attach
    // dies alone.
    static void end_processes(const Life& life, World& world) {
        if (GetParam().running) {
            world.processes.erase(World::kSelf);
        } else {
            world.processes.erase(life.init);
            world.processes.erase(World::kEngine);
        }
    }

    // A detach that failed before it changed anything leaves the container with all that it has.
    static void detach_again(Life& life, FakeHost& fake, const StateDir& state) {
        if (state.leftovers().empty())
            return;
        fake.world.add_process(World::kSelf, fake.world.host);
        const auto done = life.poststop();
        EXPECT_TRUE(done) << done.error().message();
        fake.world.processes.erase(World::kSelf);
    }

    static void run_life(const Way& way, Life& life, FakeHost& fake) {
        if (!life.precreate() || !life.create_runtime())
            return;
        if (way.net_admin)
            alter_links(fake.world);
        (void)life.poststop();  // a failing undo is gc's to finish
    }

    // Changes links as a container may that administers its network.
    static void alter_links(World& world) {
        for (auto& [ns, netns] : world.namespaces) {
            for (auto& [index, link] : netns.links)
                link.link.promiscuous = ns != world.host && !link.link.device.empty();
        }
    }

    // Returns the calls of the life after which the world changes without a call: the engine acts,
    // or a device has come by the time that the program asks for it. The last call is one of them.
    // After any other call a death leaves what a death before the next call leaves.
    static std::set<int> calls_before_a_change() {
        const Way& way = GetParam();
        FakeHost fake{way.world};
        const auto state = state_dir();
        Life life{fake, *state, "one"};
        take(way, life, *state);
        std::set<int> calls;
        World left = way.world;
        fake.gate.afterwards = [&](int) { left = fake.world; };
        fake.gate.meanwhile = [&](int next) {
            if (next > 0 && !fake.world.is_exactly(left))
                calls.insert(next - 1);
        };
        run_life(way, life, fake);
        calls.insert(fake.gate.mutating_calls() - 1);
        return calls;
    }

    // A call without the names and numbers of one life: "write journals", "add RDMA link".
    static std::string kind_of(std::string call, const std::string& folder) {
        if (const size_t at = call.find(folder); at != std::string::npos)
            call.erase(at, folder.size());
        std::ranges::replace(call, '/', ' ');
        std::istringstream words(call);
        std::string kind;
        for (std::string word; words >> word;) {
            if (word.find_first_of("0123456789") == std::string::npos)
                kind += word + ' ';
        }
        return kind;
    }

    // Returns the calls of a life in which nothing goes wrong.
    static std::vector<std::string> kinds_of_calls(const Way& way) {
        FakeHost fake{way.world};
        const auto state = state_dir(way);
        Life life{fake, *state, "one"};
        take(way, life, *state);
        run_life(way, life, fake);
        std::vector<std::string> kinds;
        for (const std::string& call : fake.gate.calls())
            kinds.push_back(kind_of(call, state->path()));
        return kinds;
    }

    static std::vector<int> all_calls() {
        std::vector<int> calls(kinds_of_calls(GetParam()).size());
        std::iota(calls.begin(), calls.end(), 0);
        return calls;
    }

    // For each way, by its name, the calls that are the first of their kind in its mode.
    using Shares = std::map<std::string, std::vector<int>>;

    static Shares share_out(const std::vector<Way>& ways) {
        Shares shares;
        std::set<std::vector<std::string>> taken;
        for (const Way& way : ways) {
            std::vector<std::string> kinds = kinds_of_calls(way);
            kinds.insert(kinds.begin(), "begin");
            kinds.emplace_back("end");
            std::vector<int>& own = shares[way.name];
            for (size_t k = 0; k + 2 < kinds.size(); ++k) {
                if (taken.insert({way.mode, kinds[k], kinds[k + 1], kinds[k + 2]}).second)
                    own.push_back(static_cast<int>(k));
            }
        }
        return shares;
    }

    // Returns the calls that no earlier way of the same form has in the same mode.
    static std::vector<int> own_calls() {
        const Way& way = GetParam();
        if (way.mode.empty() || std::getenv("RDMA_TEST_FULL") != nullptr)
            return all_calls();
        if (way.plain) {
            static const Shares kPlain = share_out(plain_ways());
            return kPlain.at(way.name);
        }
        if (way.running) {
            static const Shares kRunning = share_out(running_ways());
            return kRunning.at(way.name);
        }
        static const Shares kModes = share_out(all_ways());
        const auto found = kModes.find(way.name);
        return found == kModes.end() ? all_calls() : found->second;  // rootless ones have no other
    }

    static void at_every_call(const std::function<void(Gate&, int)>& arm) {
        const bool is_again = GetParam().plain || GetParam().running;
        const std::vector<int> calls = is_again ? own_calls() : all_calls();
        auto state = state_dir();
        for (const int k : calls) {
            EXPECT_TRUE(live(arm, k, *state)) << "call " << k << " is not reached";
            next(state);
        }
        RecordProperty("calls", static_cast<int>(calls.size()));
        EXPECT_TRUE(is_again || calls.size() >= 5)
            << "the life has fewer changing calls than a journal alone needs";
    }
};

TEST_P(EveryMode, LivesAndLeavesNothing) {
    EXPECT_FALSE(live([](Gate&, int) {}, 1000000, *state_dir()));
}

TEST_P(EveryMode, ReturnsToStartWhateverCallFails) {
    at_every_call([](Gate& gate, int k) { gate.fail_call(k, EBUSY); });
}

TEST_P(EveryMode, ReturnsToStartWhateverCallLies) {
    at_every_call([](Gate& gate, int k) { gate.lie_call(k, EIO); });
}

TEST_P(EveryMode, ReturnsToStartWhereverItCrashes) {
    at_every_call([](Gate& gate, int k) { gate.crash_call(k); });
}

TEST_P(EveryMode, ReturnsToStartWhereverItCrashesAfterwards) {
    const std::set<int> calls = calls_before_a_change();
    for (const int call : calls) {
        const auto state = state_dir();
        EXPECT_TRUE(live([](Gate& gate, int k) { gate.crash_after(k); }, call, *state)) << call;
    }
    RecordProperty("calls", static_cast<int>(calls.size()));
}

// Something that cannot be seen still exists: its pin was unmounted, or is in another mount
// namespace. Nothing of a living container is touched, and nothing of a dead one is forgotten.
TEST_P(EveryMode, ForgetsNothingThatIsHidden) {
    const Way& way = GetParam();
    for (const Hidden& hidden :
         {Hidden{.pins = true}, Hidden{.paths = true}, Hidden{.pins = true, .paths = true}}) {
        FakeHost fake{way.world};
        const auto owned = state_dir();
        StateDir& state = *owned;
        Life life{fake, state, "one"};
        take(way, life, state);
        World before = fake.world;
        if (!life.precreate() || !life.create_runtime())
            return;  // this way is refused
        fake.settle();
        const World alive = fake.world;
        fake.world.hidden = hidden;
        (void)collect(fake, state);
        fake.world.hidden = {};
        fake.settle();
        EXPECT_EQ(fake.world, alive) << difference(alive, fake.world);

        for (World* world : {&fake.world, &before}) {
            world->processes.erase(life.init);
            world->processes.erase(World::kEngine);
        }
        before.settle();
        fake.world.hidden = hidden;
        (void)collect(fake, state);
        fake.world.hidden = {};
        fake.settle();
        EXPECT_TRUE(fake.world == before || !state.leftovers().empty())
            << difference(before, fake.world) << "is there, and nobody knows whose it is";
        for (const std::string& line : collect(fake, state).trouble)
            ADD_FAILURE() << line;
        fake.settle();
        EXPECT_EQ(fake.world, before) << difference(before, fake.world);
        EXPECT_EQ(state.leftovers(), std::vector<std::string>{});
    }
}

// A failing attach rolls back at once, without waiting for gc; and the same container starts after.
// The executor does that, of whatever steps: each kind of call is tried once in each mode.
TEST_P(EveryMode, FailingAttachRollsBackByItself) {
    const Way& way = GetParam();
    for (const int k : own_calls()) {
        FakeHost fake{way.world};
        const auto owned = state_dir();
        StateDir& state = *owned;
        Life life{fake, state, "one"};
        take(way, life, state);
        const World before = fake.world;
        fake.gate.fail_call(k, EIO);
        const bool attached = life.attach().has_value();
        const bool reached = fake.gate.mutating_calls() > k;
        fake.settle();
        if (!reached)
            break;
        if (!attached) {
            EXPECT_EQ(fake.world, before) << "call " << k << ":\n"
                                          << difference(before, fake.world);
            EXPECT_EQ(life.start().has_value(), !way.refused) << "second try after call " << k;
        }
    }
}

// The other modes over each adapter, with one kind of fault: the tests above take each mode through
// all of them.
class EachAdapter : public EveryMode {};

TEST_P(EachAdapter, ReturnsToStartWhateverCallFails) {
    at_every_call([](Gate& gate, int k) { gate.fail_call(k, EBUSY); });
}

TEST(Ways, EachModeHasSome) {
    std::vector<std::string_view> modes;
    for (const auto& [mode, ways] : kWaysOfModes) {
        modes.emplace_back(mode);
        EXPECT_FALSE(ways().empty()) << mode;
    }
    EXPECT_EQ(modes, hook::mode_names());
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryMode, testing::ValuesIn(all_ways()), kWayName);
INSTANTIATE_TEST_SUITE_P(Rootless, EveryMode, testing::ValuesIn(rootless_ways()), kWayName);
INSTANTIATE_TEST_SUITE_P(Plain, EveryMode, testing::ValuesIn(plain_ways()), kWayName);
INSTANTIATE_TEST_SUITE_P(Running, EveryMode, testing::ValuesIn(running_ways()), kWayName);
INSTANTIATE_TEST_SUITE_P(Adapters, EveryMode, testing::ValuesIn(adapter_ways()), kWayName);
INSTANTIATE_TEST_SUITE_P(Further, EachAdapter, testing::ValuesIn(further_adapter_ways()), kWayName);

}  // namespace
}  // namespace test
