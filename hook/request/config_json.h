// SPDX-License-Identifier: Apache-2.0
// Functions that the readers of the configuration share. They check that members are known and of
// their type, and make errors that name the place ("pools.fast.parents[1]"). Private to config.cc
// and config_policy.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "hook/request/values.h"

namespace hook {

enum class Type { Object, List, String, Bool, Any };

struct Member {
    const char* name;
    Type type;
};

Error bad(std::string_view place, std::string_view why);
Error bad_type(std::string_view place, std::string_view expected, const Json& value);
Result<> expect(const Json& value, Type type, const std::string& place);
std::string join(const std::string& place, std::string_view key);
std::string item(const std::string& place, size_t index);
std::vector<std::string_view> names(std::span<const Member> members);

// Checks that every member is known and of its type.
Result<> check_members(const Json& object,
                       std::span<const Member> members,
                       const std::string& place);

// Returns the member, or nullptr.
const Json* find(const Json& object, const char* key);
// Returns the member's value; false if it is absent.
bool flag(const Json& object, const char* key);
// Returns the strings of a list, none twice; an absent list is an empty one.
Result<std::vector<std::string>> strings(const Json& object,
                                         const char* key,
                                         const std::string& place);

// The way to read one string of a list, and the error's text for a wrong one.
template <class T>
struct Item {
    std::optional<T> (*parse)(std::string_view text);
    const char* must;  // "must be a network such as 10.9.0.0/16"
    const char* advice = nullptr;
};

template <class T>
Result<std::vector<T>> read_list(const Json& object,
                                 const char* key,
                                 const std::string& place,
                                 const Item<T>& each) {
    std::vector<T> all;
    for (const std::string& text : TRY(strings(object, key, place))) {
        auto value = each.parse(text);
        if (!value) {
            auto error = bad(item(join(place, key), all.size()),
                             fmt::format("{}, not '{}'", each.must, base::printable(text)));
            return each.advice == nullptr ? error : std::move(error).advise(each.advice);
        }
        all.push_back(*std::move(value));
    }
    return all;
}

// Returns an item that is a string as it stands, if `IsOne`.
template <bool (*IsOne)(std::string_view)>
std::optional<std::string> parse_name(std::string_view text) {
    return IsOne(text) ? std::optional(std::string(text)) : std::nullopt;
}

}  // namespace hook
