// SPDX-License-Identifier: Apache-2.0
#include "hook/request/config_json.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "netns/base/json.h"

namespace hook {

namespace {
const Member* find_member(std::span<const Member> members, std::string_view name) {
    for (const Member& member : members) {
        if (member.name == name)
            return &member;
    }
    return nullptr;
}
}  // namespace

Error bad(std::string_view place, std::string_view why) {
    return make_error(Code::BadConfig, fmt::format("'{}' {}", printable(place), why));
}

Error bad_type(std::string_view place, std::string_view expected, const Json& value) {
    return bad(place,
               fmt::format("must be {}, not {}", expected, printable(base::dump_json(value), 40)));
}

Result<> expect(const Json& value, Type type, const std::string& place) {
    if (type == Type::Object && !value.is_object())
        return bad_type(place, "an object", value);
    if (type == Type::List && !value.is_array())
        return bad_type(place, "a list", value);
    if (type == Type::String && !value.is_string())
        return bad_type(place, "a string", value);
    if (type == Type::Bool && !value.is_boolean())
        return bad_type(place, "true or false", value);
    return {};
}

std::string join(const std::string& place, std::string_view key) {
    return place.empty() ? std::string(key) : place + "." + std::string(key);
}

std::string item(const std::string& place, size_t index) {
    return fmt::format("{}[{}]", place, index);
}

std::vector<std::string_view> names(std::span<const Member> members) {
    std::vector<std::string_view> all;
    for (const Member& member : members)
        all.push_back(member.name);
    return all;
}

Result<> check_members(const Json& object,
                       std::span<const Member> members,
                       const std::string& place) {
    for (const auto& [key, value] : object.items()) {
        const Member* member = find_member(members, key);
        if (member == nullptr)
            return bad(join(place, key), "is not known")
                .advise(fmt::format("did you mean '{}'? known here: {}",
                                    nearest(key, names(members)),
                                    fmt::join(names(members), ", ")));
        TRY(expect(value, member->type, join(place, key)));
    }
    return {};
}

const Json* find(const Json& object, const char* key) {
    const auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
}

bool flag(const Json& object, const char* key) {
    const Json* value = find(object, key);
    return value != nullptr && value->get<bool>();
}

Result<std::vector<std::string>> strings(const Json& object,
                                         const char* key,
                                         const std::string& place) {
    std::vector<std::string> all;
    const Json* list = find(object, key);
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const std::string here = item(join(place, key), i);
        TRY(expect((*list)[i], Type::String, here));
        auto text = (*list)[i].get<std::string>();
        if (std::find(all.begin(), all.end(), text) != all.end())
            return bad(here, fmt::format("names '{}' a second time", printable(text)));
        all.push_back(std::move(text));
    }
    return all;
}

}  // namespace hook
