// SPDX-License-Identifier: Apache-2.0
// JSON Schema for tests, as far as this project's schemas need it.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netns/base/json.h"

namespace test {

// Holds a value to the few words of JSON Schema that the schemas of reports and answers use, and notes every
// member and every object of the schema that it met.
class SchemaCheck {
    using Json = base::Json;
    using Names = std::set<std::string>;

  public:
    explicit SchemaCheck(Json root) : root_(std::move(root)) {}

    void check(const Json& value) { check(root_, value, "report"); }

    // Holds the value to one of the definitions.
    void check(const std::string& definition, const Json& value) {
        follow("#/$defs/" + definition, value, definition);
    }

    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

    // Members that the schema lists and no checked value had.
    [[nodiscard]] Names unseen() const {
        Names out;
        for (const auto& [name, object] : root_["$defs"].items())
            list(object, name, out);
        list(root_, "", out);
        for (const std::string& name : seen_)
            out.erase(name);
        return out;
    }

  private:
    static void list(const Json& rule, const std::string& name, Names& out) {
        const Json properties = rule.value("properties", Json::object());
        for (const auto& [member, sub] : properties.items()) {
            out.insert(name + "." + member);
            list(sub, name + "." + member, out);
        }
    }

    static bool has_type(const Json& value, const std::string& type) {
        return (type == "null" && value.is_null()) || (type == "object" && value.is_object()) ||
               (type == "array" && value.is_array()) || (type == "string" && value.is_string()) ||
               (type == "boolean" && value.is_boolean()) ||
               (type == "integer" && value.is_number_integer()) ||
               (type == "number" && value.is_number());
    }

    static bool lists(const Json& list, const Json& value) {
        return std::find(list.begin(), list.end(), value) != list.end();
    }

    void complain(const std::string& where, const std::string& what, const Json& value) {
        problems_.push_back(where + ": " + what + ": " + value.dump());
    }

    void check(const Json& rule, const Json& value, const std::string& where) {
        if (rule.contains("$ref"))
            return follow(rule["$ref"], value, where);
        if (rule.contains("oneOf"))
            return choose(rule["oneOf"], value, where);
        if (rule.contains("anyOf"))  // always a rule or null
            return value.is_null() ? void() : check(rule["anyOf"][0], value, where);
        if (rule.contains("type")) {
            const Json types = rule["type"].is_array() ? rule["type"] : Json::array({rule["type"]});
            if (std::none_of(
                    types.begin(), types.end(), [&](const Json& t) { return has_type(value, t); }))
                return complain(where, "has a wrong type", value);
        }
        if (rule.contains("const") && rule["const"] != value)
            complain(where, "is not the constant", value);
        if (rule.contains("enum") && !lists(rule["enum"], value))
            complain(where, "is not listed", value);
        if (value.is_object() && !rule.empty())
            check_members(rule, value, where);
        if (value.is_array() && rule.contains("items")) {
            for (const Json& element : value)
                check(rule["items"], element, where + "[]");
        }
    }

    // Always definitions of objects, which a constant "kind" tells apart.
    void choose(const Json& rules, const Json& value, const std::string& where) {
        const Json kind = value.is_object() ? value.value("kind", Json()) : Json();
        for (const Json& rule : rules) {
            const Json& definition = root_["$defs"][name_of(rule["$ref"])];
            if (definition["properties"]["kind"]["const"] == kind)
                return follow(rule["$ref"], value, where);
        }
        complain(where, "is of no kind", kind);
    }

    static std::string name_of(const std::string& target) {
        return target.substr(std::string("#/$defs/").size());
    }

    void follow(const std::string& target, const Json& value, const std::string& where) {
        const std::string name = name_of(target);
        const std::string outer = std::exchange(object_, name);
        check(root_["$defs"][name], value, where);
        object_ = outer;
    }

    void check_members(const Json& rule, const Json& value, const std::string& where) {
        if (rule.contains("additionalProperties")) {  // a table with names of its own
            for (const auto& [name, member] : value.items())
                check(rule["additionalProperties"], member, where + "." + name);
            return;
        }
        const std::string outer = object_;
        for (const auto& [name, member] : value.items()) {
            if (!rule["properties"].contains(name)) {
                complain(where + "." + name, "is not in the schema", member);
                continue;
            }
            object_ = outer + "." + name;
            seen_.insert(object_);
            check(rule["properties"][name], member, where + "." + name);
        }
        object_ = outer;
        for (const Json& name : rule["required"]) {
            if (!value.contains(name.get<std::string>()))
                complain(where, "lacks " + name.dump(), value);
        }
    }

    Json root_;
    std::string object_;
    Names seen_;
    std::vector<std::string> problems_;
};

}  // namespace test
