// SPDX-License-Identifier: Apache-2.0
// JSON: the only way in which this project uses nlohmann's library, which holds values. Their texts
// are read by base/json_scan.h, which is strict, and written by dump_json(). Unknown members and
// their order are kept, so that a config.json survives a round trip. Headers that only declare
// functions of Json include base/json_fwd.h.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "netns/base/json_fwd.h"
#include "netns/base/result.h"

namespace base {

// Parses a text. `what` names the text in errors ("config.json"). The caller bounds its size when
// it reads.
Result<Json> parse_json(std::string_view text, std::string_view what);

// Returns an empty object with room for so many members. An object that grows copies all its
// members each time: the library's ordered object keeps its keys constant, so they cannot be moved.
Json object_for(size_t members);

// Makes an object of members, with room for some more. `Json{{"key", value}, ...}` makes the same,
// but first an array of each member.
struct Member {
    std::string_view key;
    mutable Json value;  // moved out of the list
};

Json object(std::initializer_list<Member> members);

// Returns a member that is an array; an empty array if it is missing. The result lives as long as
// `json`.
const Json& array_of(const Json& json, const char* key);

// Prints the value on one line. Invalid UTF-8 is replaced, never thrown.
std::string dump_json(const Json& value);

// Appends strings, whole numbers and truth values as dump_json() prints them. For texts that are
// written often and have few kinds of members: a Json of each member costs ten times as much.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, std::span<const std::string> texts);

template <std::integral T>
void append_json(std::string& out, T value) {
    if constexpr (std::same_as<T, bool>) {
        out += value ? "true" : "false";
    } else {
        std::array<char, 24> digits;  // NOLINT: not initialised
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        out.append(digits.data(), end);
    }
}

// Begins a member of the object that the text ends in.
void append_name(std::string& out, std::string_view name);

template <class T>
void append_member(std::string& out, std::string_view name, const T& value) {
    append_name(out, name);
    append_json(out, value);
}

namespace detail {
Error wrong_type(std::string_view key, std::string_view expected, const Json& value);
Error missing_member(std::string_view key, std::string_view expected);

template <class T>
constexpr std::string_view type_label() {
    if constexpr (std::is_same_v<T, bool>)
        return "true or false";
    else if constexpr (std::is_integral_v<T>)
        return "a whole number in range";
    else if constexpr (std::is_floating_point_v<T>)
        return "a number";
    else
        return "a string";
}

template <class T>
bool fits(const Json& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value.is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
        if (!value.is_number_integer())
            return false;
        return value.is_number_unsigned() ? std::in_range<T>(value.get<uint64_t>())
                                          : std::in_range<T>(value.get<int64_t>());
    } else if constexpr (std::is_floating_point_v<T>) {
        return value.is_number();
    } else {
        return value.is_string();
    }
}
}  // namespace detail

// Reads the value itself as bool, integer (range checked), floating point or std::string.
template <class T>
Result<T> as(const Json& value, std::string_view name) {
    if (!detail::fits<T>(value))
        return detail::wrong_type(name, detail::type_label<T>(), value);
    return value.get<T>();
}

// Reads a member that must be there.
template <class T>
Result<T> required(const Json& object, std::string_view key) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || it == object.end())
        return detail::missing_member(key, detail::type_label<T>());
    return as<T>(*it, key);
}

// Reads a member that may be missing (or null): then `fallback`.
template <class T>
Result<T> optional_member(const Json& object, std::string_view key, T fallback) {
    if (!object.is_object())
        return detail::missing_member(key, detail::type_label<T>());
    const auto it = object.find(key);
    if (it == object.end() || it->is_null())
        return fallback;
    return as<T>(*it, key);
}

}  // namespace base
