// SPDX-License-Identifier: Apache-2.0
// What the readers of the configuration share: members that must be known and of their type, and
// errors that name the place ("pools.fast.parents[1]").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json.h"

namespace hook {

using base::Error;
using base::Json;
using base::Result;

enum class Type { Object, List, String, Bool, Any };

struct Member {
    std::string_view name;
    Type type;
};

Error bad(std::string_view place, std::string_view why);
Error bad_type(std::string_view place, std::string_view expected, const Json& value);
Result<> expect(const Json& value, Type type, const std::string& place);
std::string join(const std::string& place, std::string_view key);
std::vector<std::string_view> names(std::span<const Member> members);

// Every member known and of its type.
Result<> check_members(const Json& object,
                       std::span<const Member> members,
                       const std::string& place);

// The member, or nullptr.
const Json* find(const Json& object, const char* key);
// False if it is absent.
bool flag(const Json& object, const char* key);
// The strings of a list, none twice; an absent list is an empty one.
Result<std::vector<std::string>> strings(const Json& object,
                                         const char* key,
                                         const std::string& place);

}  // namespace hook
