// SPDX-License-Identifier: Apache-2.0
// Gate: every changing call of every fake room passes through it, numbered from 0. A test chooses
// one call that fails, crashes the program, or lies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/base/result.h"

namespace test {

// Thrown in place of the program's death. It is no std::exception: nothing may catch it on the way.
struct Crash {
    int call = 0;
    std::string what;
};

class Gate {
  public:
    // Call number `call` fails without effect. With fail_from() every later call fails, too.
    void fail_call(int call, int number) { plan(call, Fault::Fail, number); }

    // `kinds`: only calls whose names begin so fail ("write /"); empty: all calls.
    void fail_from(int call, int number, std::vector<std::string> kinds = {}) {
        plan(call, Fault::FailOn, number);
        kinds_ = std::move(kinds);
    }

    // The call has its effect, and reports failure.
    void lie_call(int call, int number) { plan(call, Fault::Lie, number); }

    // The program dies before, or after, the effect. Until restart() nothing changes the world:
    // destructors that run while the stack unwinds belong to a dead program.
    void crash_call(int call) { plan(call, Fault::CrashBefore, 0); }

    void crash_after(int call) { plan(call, Fault::CrashAfter, 0); }

    // Counts from 0 again, without a fault.
    void restart();

    // Acts as other processes at the same time: called before each call, with its number.
    std::function<void(int)> meanwhile;

    // Looks at the world after each call that had its effect, with its number.
    std::function<void(int)> afterwards;

    // Acts as other processes while the program waits for them and still has time.
    std::function<void()> others;

    void wait_for_others(base::Deadline deadline) const {
        if (others && !deadline.passed())
            others();
    }

    [[nodiscard]] int mutating_calls() const { return static_cast<int>(calls_.size()); }

    [[nodiscard]] const std::vector<std::string>& calls() const { return calls_; }

    template <class T>
    base::Result<T> pass(const std::string& what, const std::function<base::Result<T>()>& effect) {
        const Fault fault = enter(what);
        if (fault == Fault::Fail)
            return refusal(what);
        base::Result<T> done = effect();
        if (afterwards)
            afterwards(mutating_calls() - 1);
        if (fault == Fault::CrashAfter)
            die(what);
        if (fault == Fault::Lie)
            return refusal(what);
        return done;
    }

  private:
    enum class Fault { None, Fail, FailOn, Lie, CrashBefore, CrashAfter };

    void plan(int call, Fault fault, int number);
    Fault enter(const std::string& what);
    [[nodiscard]] bool is_of_kind(const std::string& what) const;
    [[noreturn]] void die(const std::string& what);
    [[nodiscard]] base::Error refusal(const std::string& what) const;

    std::vector<std::string> calls_;
    std::vector<std::string> kinds_;
    Fault fault_ = Fault::None;
    int at_ = 0;
    int number_ = 0;
    bool dead_ = false;
};

}  // namespace test
