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
#if FMT_VERSION >= 100000 && FMT_VERSION < 110000
template void vformat_to(buffer<char>&, string_view, vformat_args<>::type, locale_ref);
#elif FMT_VERSION < 90000
template int format_float<double>(double, int, float_specs, buffer<char>&);
template int format_float<long double>(long double, int, float_specs, buffer<char>&);
template int snprintf_float<double>(double, int, float_specs, buffer<char>&);
template int snprintf_float<long double>(long double, int, float_specs, buffer<char>&);
#endif
}  // namespace fmt::detail
