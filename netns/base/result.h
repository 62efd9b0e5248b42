// SPDX-License-Identifier: Apache-2.0
// Result<T> is a value or an Error, with the member names of std::expected (C++23), which libstdc++
// 12 lacks. TRY(expr) takes the value, or returns the error from the function.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "netns/base/error.h"

namespace base {

template <class T = void>
class [[nodiscard]] Result {
  public:
    Result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {
    }  // NOLINT(google-explicit-constructor)

    [[gnu::cold]] Result(Error error)
        : state_(std::in_place_index<1>, std::move(error)) {
    }  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool has_value() const { return state_.index() == 0; }

    explicit operator bool() const { return has_value(); }

    // value() of a failed result is a bug: std::get throws, and main reports it as such.
    T& value() & { return std::get<0>(state_); }

    const T& value() const& { return std::get<0>(state_); }

    // No reference: a loop over the value of a temporary would outlive it.
    T value() && { return std::get<0>(std::move(state_)); }

    T& operator*() & { return value(); }

    const T& operator*() const& { return value(); }

    T operator*() && { return std::move(*this).value(); }

    T* operator->() { return &value(); }

    const T* operator->() const { return &value(); }

    Error& error() & { return std::get<1>(state_); }

    const Error& error() const& { return std::get<1>(state_); }

    Error&& error() && { return std::get<1>(std::move(state_)); }

    // Returns the same result; an error gets one more outer frame of context.
    Result context(std::string frame) && {
        if (has_value())
            return std::move(*this);
        return std::move(*this).error().in(std::move(frame));
    }

    // Returns the same result; an error gets advice for the operator.
    Result advise(std::string fix) && {
        if (has_value())
            return std::move(*this);
        return std::move(*this).error().advise(std::move(fix));
    }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;

    [[gnu::cold]] Result(Error error)
        : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool has_value() const { return !error_.has_value(); }

    explicit operator bool() const { return has_value(); }

    void value() const { (void)has_value(); }

    Error& error() & { return error_.value(); }

    const Error& error() const& { return error_.value(); }

    Error&& error() && { return std::move(error_).value(); }

    Result context(std::string frame) && {
        if (has_value())
            return {};
        return std::move(*this).error().in(std::move(frame));
    }

    Result advise(std::string fix) && {
        if (has_value())
            return {};
        return std::move(*this).error().advise(std::move(fix));
    }

  private:
    std::optional<Error> error_;
};

// Joins two outcomes so that neither hides the other: the second error goes into the first one's
// `also`.
inline Result<> join(Result<> first, Result<> second) {
    if (first)
        return second;
    if (!second)
        first.error().also.push_back(std::move(second).error());
    return first;
}

namespace detail {
template <class T>
T take(Result<T>& result) {
    return std::move(result).value();
}

inline void take(Result<void>&) {}
}  // namespace detail

}  // namespace base

// Takes the value of a Result, or returns its error from the enclosing function. May be nested.
#define TRY(expression) BASE_TRY_NAMED(BASE_TRY_NAME(__COUNTER__), expression)
#define BASE_TRY_NAME(number) BASE_TRY_JOIN(try_result_, number)
#define BASE_TRY_JOIN(left, right) left##right
#define BASE_TRY_NAMED(name, expression) BASE_TRY(name, expression)
#define BASE_TRY(name, expression)          \
    __extension__({                         \
        auto name = (expression);           \
        if (!name)                          \
            return std::move(name).error(); \
        ::base::detail::take(name);         \
    })
