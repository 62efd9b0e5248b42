// SPDX-License-Identifier: Apache-2.0
// Compiles the functions of fmt once. Its package has them only in a shared library, which
// statically linked programs cannot use. In fmt's header-only mode every file compiles them.

// No format here has a locale's separators ("{:L}"). Without the question for them no program
// contains std::locale, whose tables a static program relocates at each start.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','

#include <fmt/format-inl.h>

namespace fmt::detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;
}  // namespace fmt::detail
