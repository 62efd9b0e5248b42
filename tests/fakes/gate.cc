// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/gate.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace test {

void Gate::plan(int call, Fault fault, int number) {
    at_ = call;
    fault_ = fault;
    number_ = number;
}

void Gate::restart() {
    calls_.clear();
    dead_ = false;
    kinds_.clear();
    plan(0, Fault::None, 0);
}

Gate::Fault Gate::enter(const std::string& what) {
    if (dead_)
        return Fault::Fail;
    const int call = mutating_calls();
    calls_.push_back(what);
    if (auto meeting = std::exchange(meanwhile, nullptr)) {  // no meeting within a meeting
        meeting(call);
        meanwhile = std::move(meeting);
    }
    if (fault_ == Fault::FailOn)
        return call >= at_ && is_of_kind(what) ? Fault::Fail : Fault::None;
    if (call != at_)
        return Fault::None;
    if (fault_ == Fault::CrashBefore)
        die(what);
    return fault_;
}

bool Gate::is_of_kind(const std::string& what) const {
    return kinds_.empty() || std::ranges::any_of(kinds_, [&](const std::string& kind) {
               return what.starts_with(kind);
           });
}

void Gate::die(const std::string& what) {
    dead_ = true;
    throw Crash{mutating_calls() - 1, what};
}

base::Error Gate::refusal(const std::string& what) const {
    return base::sys_error(number_ == 0 ? EIO : number_, "injected: " + what);
}

}  // namespace test
