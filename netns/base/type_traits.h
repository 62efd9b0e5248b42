// SPDX-License-Identifier: Apache-2.0
// Traits of a member's type that codecs look at, beyond <type_traits>.
#pragma once

#include <optional>
#include <vector>

namespace base {

// True for a std::optional of anything.
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// True for a std::vector of anything.
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

}  // namespace base
