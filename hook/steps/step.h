// SPDX-License-Identifier: Apache-2.0
// Step: one change of the outside world, as data. It is written to the journal before it is
// applied, read by another process, and undone there.
//
// A step is a struct of its arguments with
//   kKind        its name in journals: it never changes
//   kFields      its members, as journals have them
//   describe()   one line, in the imperative: for plans, logs and the context of errors
//   apply(site)  one kernel request, or one atomic change of a file
//   undo(site)   right after a full, a partial and an absent apply(); callable twice
// and is one of the alternatives of AnyStep (hook/steps/plan.h). A step that only looks or waits
// has kJournaled = false instead of kFields and undo().
//
// The rules of rollback:
// 1. All steps of a plan, with everything that their undo needs, are on disk before the first is
//    applied.
// 2. However far the run got, undoing all steps in reverse brings back the state before the run. A
//    step that was never applied undoes to nothing, so no "done" marks are needed.
// 3. A step names an object by what rdma-hook chose for it (index, MAC, unique name), or by its bus
//    address.
// 4. Undo stops at a step that cannot be undone, or whose change cannot be seen. The steps before
//    it stay, too. The journal keeps its claims and says why; gc or the next attach begins there.
// 5. The container's namespace is reached only through rdma-hook's pin, which is undone last.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "hook/steps/site.h"

namespace hook {

// The state of a step's change after undo().
struct Undo {
    enum class Answer {
        Gone,     // the change was not there
        Undone,   // the change was taken back
        Unknown,  // the change cannot be seen from here, and may still be there
    };

    Answer answer = Answer::Gone;
    std::string why = {};  // Unknown: what hides it, and what the operator can do

    static Undo gone() { return {}; }

    static Undo undone() { return {.answer = Answer::Undone}; }

    static Undo unknown(std::string why) {
        return {.answer = Answer::Unknown, .why = std::move(why)};
    }
};

// Returns Undone if the call that takes the change back has succeeded, else its error.
inline Result<Undo> undone_by(Result<> done) {
    return done ? Result<Undo>(Undo::undone()) : std::move(done).error();
}

// An address of full length; journals have it without its prefix.
struct HostAddress {
    netns::Address address;
    bool operator==(const HostAddress&) const = default;
};

// True if journals have steps of this type.
template <class S>
inline constexpr bool kIsJournaled = [] {
    if constexpr (requires { S::kJournaled; })
        return S::kJournaled;
    else
        return true;
}();

// A member of S and its name in journals.
template <class S, class T>
struct Named {
    constexpr Named(std::string_view n, T S::*m) : name(n), member(m) {}

    std::string_view name;
    T S::*member;
};

// A placeholder for a name: this member's own members stand beside the others.
inline constexpr std::string_view kHere;

// The fields of T: its own, or those of a specialisation for a type of netns/. Without fields, T
// has no members for the codec.
template <class T>
inline constexpr auto kFieldsOf = [] {
    if constexpr (requires { T::kFields; })
        return T::kFields;
    else
        return std::tuple<>();
}();

}  // namespace hook
