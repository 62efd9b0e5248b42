// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/spec_check.h"

#include <climits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "netns/base/ascii.h"
#include "netns/base/json_kept.h"

namespace oci {

using base::Code;
using base::Json;
using base::make_error;
using base::printable;
using base::Result;

namespace {
enum class Type { Object, Array, String, Bool, Integer, Unsigned };

// A member that rdma-hook relies on; `required` if the specification requires it.
struct Member {
    std::string_view key;
    Type type;
    bool required = false;
};

constexpr Member kRoot[] = {{"annotations", Type::Object},
                            {"hooks", Type::Object},
                            {"linux", Type::Object},
                            {"mounts", Type::Array},
                            {"process", Type::Object}};
constexpr Member kLinux[] = {{"devices", Type::Array},
                             {"mountLabel", Type::String},
                             {"namespaces", Type::Array},
                             {"resources", Type::Object}};
constexpr Member kNamespace[] = {{"type", Type::String, true}, {"path", Type::String}};
constexpr Member kDevice[] = {{"path", Type::String, true},
                              {"type", Type::String, true},
                              {"major", Type::Integer},
                              {"minor", Type::Integer}};
constexpr Member kDeviceRule[] = {{"allow", Type::Bool, true},
                                  {"type", Type::String},
                                  {"major", Type::Integer},
                                  {"minor", Type::Integer},
                                  {"access", Type::String}};
constexpr Member kResources[] = {{"devices", Type::Array}};
constexpr Member kProcess[] = {
    {"capabilities", Type::Object}, {"env", Type::Array}, {"rlimits", Type::Array}};
constexpr Member kRlimit[] = {
    {"type", Type::String, true}, {"soft", Type::Unsigned, true}, {"hard", Type::Unsigned, true}};
constexpr Member kMount[] = {
    {"destination", Type::String, true}, {"source", Type::String}, {"type", Type::String}};

bool has_type(const Json& value, Type type) {
    switch (type) {
        case Type::Object:
            return value.is_object();
        case Type::Array:
            return value.is_array();
        case Type::String:
            return value.is_string();
        case Type::Bool:
            return value.is_boolean();
        case Type::Integer:
            return base::detail::fits<int64_t>(value);
        case Type::Unsigned:
            return base::detail::fits<uint64_t>(value);
    }
    return false;
}

std::string_view type_label(Type type) {
    switch (type) {
        case Type::Object:
            return "an object";
        case Type::Array:
            return "a list";
        case Type::String:
            return "a string";
        case Type::Bool:
            return "true or false";
        case Type::Integer:
            return "a whole number";
        case Type::Unsigned:
            return "a whole number from 0";
    }
    return "";
}

// A place in config.json: "linux.namespaces[2].path". Only a complaint has its text.
struct Place {
    std::string_view list;
    std::optional<size_t> index = {};
    std::string_view key = {};

    [[nodiscard]] std::string text() const {
        std::string all = index ? fmt::format("{}[{}]", list, *index) : std::string(list);
        if (!key.empty())
            all.append(all.empty() ? "" : ".").append(key);
        return all;
    }

    [[nodiscard]] Place member(std::string_view name) const {
        return {.list = list, .index = index, .key = name};
    }
};

Result<> bad(const Place& place, const std::string& why) {
    return make_error(Code::BadInput,
                      fmt::format("config.json: '{}' {}", printable(place.text()), why))
        .advise("report it to the engine that wrote this config.json");
}

Result<> wrong_type(const Json& value, Type type, const Place& place) {
    return bad(
        place,
        fmt::format("must be {}, not {}", type_label(type), printable(base::dump_json(value), 40)));
}

Result<> check_members(const Json& object, std::span<const Member> members, const Place& place) {
    if (!object.is_object())
        return wrong_type(object, Type::Object, place);
    for (const auto& entry : members) {
        const Json* value = member(&object, entry.key);
        if (value == nullptr && entry.required)
            return bad(place.member(entry.key),
                       fmt::format("is missing ({})", type_label(entry.type)));
        if (value != nullptr && !has_type(*value, entry.type))
            return wrong_type(*value, entry.type, place.member(entry.key));
    }
    return {};
}

// Checks a list of objects with these members; an absent list is an empty one.
Result<> check_items(const Json* list, std::span<const Member> members, std::string_view place) {
    for (size_t i = 0; list != nullptr && i < list->size(); ++i)
        TRY(check_members((*list)[i], members, {place, i}));
    return {};
}

Result<> check_strings(const Json* list, std::string_view place) {
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
        if (!(*list)[i].is_string())
            return wrong_type((*list)[i], Type::String, {place, i});
    }
    return {};
}

// The specification forbids two namespaces, and two rlimits, of one type: which one a runtime takes
// is unknown.
Result<> check_types_differ(const Json* list, std::string_view place) {
    std::set<std::string_view> seen;
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const auto& type = (*list)[i]["type"].get_ref<const std::string&>();
        if (!seen.insert(type).second)
            return bad({place, i, "type"},
                       fmt::format("names '{}' a second time", printable(type)));
    }
    return {};
}

// Control characters would cut or break the text where it goes next: NUL in a path for the kernel,
// a newline in a label or a log.
Result<> check_plain(const Json* text, const Place& place) {
    if (text == nullptr)
        return {};
    for (const char c : text->get_ref<const std::string&>()) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return bad(place, "has a control character: " + printable(text->get<std::string>()));
    }
    return {};
}

Result<> check_namespaces(const Json* list) {
    TRY(check_items(list, kNamespace, "linux.namespaces"));
    TRY(check_types_differ(list, "linux.namespaces"));
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const Json* path = member(&(*list)[i], "path");
        if (path == nullptr)
            continue;
        const Place place{"linux.namespaces", i, "path"};
        TRY(check_plain(path, place));
        const auto& text = path->get_ref<const std::string&>();
        if (!text.empty() && (text[0] != '/' || text.size() >= PATH_MAX))
            return bad(place, "must be an absolute path, not " + printable(text));
    }
    return {};
}

Result<> check_linux(const Json* section) {
    if (section == nullptr)
        return {};
    TRY(check_members(*section, kLinux, {"linux"}));
    TRY(check_plain(member(section, "mountLabel"), {"linux.mountLabel"}));
    TRY(check_namespaces(member(section, "namespaces")));
    TRY(check_items(member(section, "devices"), kDevice, "linux.devices"));
    const Json* resources = member(section, "resources");
    if (resources == nullptr)
        return {};
    TRY(check_members(*resources, kResources, {"linux.resources"}));
    return check_items(member(resources, "devices"), kDeviceRule, "linux.resources.devices");
}

// libcap takes a number for a capability, too, which a policy would not know by name.
Result<> check_capabilities(const Json* list, std::string_view place) {
    if (list == nullptr)
        return {};
    const base::KeptView kept(*list);
    if (!kept.view().is_array())
        return wrong_type(*list, Type::Array, {place});
    const auto names = kept.view().elements();
    for (size_t i = 0; i < names.size(); ++i) {
        const auto name = names[i].get<std::string>();
        if (!name)
            return wrong_type(names[i].value(), Type::String, {place, i});
        if (name->empty() || base::is_digit(name->front()))
            return bad({place, i},
                       "must be a capability such as CAP_CHOWN, not " + printable(*name));
    }
    return {};
}

Result<> check_process(const Json* process) {
    if (process == nullptr)
        return {};
    TRY(check_members(*process, kProcess, {"process"}));
    TRY(check_strings(member(process, "env"), "process.env"));
    const Json* rlimits = member(process, "rlimits");
    TRY(check_items(rlimits, kRlimit, "process.rlimits"));
    TRY(check_types_differ(rlimits, "process.rlimits"));
    const Json* capabilities = member(process, "capabilities");
    if (capabilities == nullptr)
        return {};
    for (const char* set : kCapabilitySets)
        TRY(check_capabilities(member(capabilities, set),
                               std::string("process.capabilities.") + set));
    return {};
}

Result<> check_each(const Json* object, Type type, std::string_view place) {
    if (object == nullptr)
        return {};
    for (const auto& [key, value] : object->items()) {
        if (!has_type(value, type) && (!value.is_null() || type == Type::String))
            return wrong_type(value, type, {place, {}, key});
    }
    return {};
}
}  // namespace

const Json* member(const Json* object, std::string_view key) {
    if (object == nullptr || !object->is_object())
        return nullptr;
    const auto it = object->find(key);
    return it == object->end() || it->is_null() ? nullptr : &*it;
}

Result<> check_annotations(const Json& tree) {
    if (!tree.is_object())
        return make_error(Code::BadInput, "config.json is not a JSON object")
            .advise("report it to the engine that wrote this config.json");
    const Json* annotations = member(&tree, "annotations");
    if (annotations == nullptr)
        return {};
    if (!annotations->is_object())
        return wrong_type(*annotations, Type::Object, {"annotations"});
    return check_each(annotations, Type::String, "annotations");
}

Result<> check_spec(const Json& tree) {
    TRY(check_annotations(tree));
    TRY(check_members(tree, kRoot, {""}));
    TRY(check_linux(member(&tree, "linux")));
    TRY(check_process(member(&tree, "process")));
    TRY(check_items(member(&tree, "mounts"), kMount, "mounts"));
    return check_each(member(&tree, "hooks"), Type::Array, "hooks");
}

}  // namespace oci
