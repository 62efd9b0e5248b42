// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/gate.h"

#include <cerrno>

namespace test {

void Gate::plan(int call, Fault fault, int number) {
    at_ = call;
    fault_ = fault;
    number_ = number;
}

void Gate::restart() {
    calls_.clear();
    dead_ = false;
    plan(0, Fault::None, 0);
}

Gate::Fault Gate::enter(const std::string& what) {
    if (dead_)
        return Fault::Fail;
    const int call = mutating_calls();
    calls_.push_back(what);
    if (fault_ == Fault::FailOn)
        return call >= at_ ? Fault::Fail : Fault::None;
    if (call != at_)
        return Fault::None;
    if (fault_ == Fault::CrashBefore)
        die(what);
    return fault_;
}

void Gate::die(const std::string& what) {
    dead_ = true;
    throw Crash{mutating_calls() - 1, what};
}

base::Error Gate::refusal(const std::string& what) const {
    return base::sys_error(number_ == 0 ? EIO : number_, "injected: " + what);
}

}  // namespace test
