// SPDX-License-Identifier: Apache-2.0
#include "netns/values/child_type.h"

#include <array>
#include <utility>

namespace netns {

namespace {
template <class T>
using Words = std::array<std::pair<T, std::string_view>, 3>;

constexpr Words<ChildKind> kKinds = {
    {{ChildKind::Macvlan, "macvlan"}, {ChildKind::Ipvlan, "ipvlan"}, {ChildKind::Vlan, "vlan"}}};
constexpr Words<MacvlanMode> kModes = {{{MacvlanMode::Bridge, "bridge"},
                                        {MacvlanMode::Private, "private"},
                                        {MacvlanMode::Vepa, "vepa"}}};

template <class T>
std::string_view word_of(const Words<T>& words, T value) {
    for (const auto& [each, text] : words) {
        if (each == value)
            return text;
    }
    return {};
}

template <class T>
std::optional<T> value_of(const Words<T>& words, std::string_view text) {
    for (const auto& [each, word] : words) {
        if (word == text)
            return each;
    }
    return std::nullopt;
}
}  // namespace

std::string_view to_string(ChildKind kind) {
    return word_of(kKinds, kind);
}

std::string_view to_string(MacvlanMode mode) {
    return word_of(kModes, mode);
}

std::optional<ChildKind> parse_child_kind(std::string_view text) {
    return value_of(kKinds, text);
}

std::optional<MacvlanMode> parse_macvlan_mode(std::string_view text) {
    return value_of(kModes, text);
}

}  // namespace netns
