// SPDX-License-Identifier: Apache-2.0
// A value of a JSON text, read where it lies. For texts of which each member is read once: a tree of
// values costs several times as much to make and to take apart.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netns/base/json.h"
#include "netns/base/json_scan.h"

namespace base {

// Text and nodes outlive the view.
class JsonView {
  public:
    // Views nothing: it has no type and no members.
    JsonView() = default;

    // Views the whole of a text that scan_json() has accepted.
    JsonView(std::string_view text, const std::vector<JsonNode>& nodes)
        : JsonView(text, nodes, 0) {}

    JsonView(std::string_view text, std::vector<JsonNode>&& nodes) = delete;

    [[nodiscard]] bool is_null() const { return is(JsonNode::Kind::Null); }

    [[nodiscard]] bool is_object() const { return is(JsonNode::Kind::Object); }

    [[nodiscard]] bool is_array() const { return is(JsonNode::Kind::Array); }

    // Returns a member; nothing if it is missing, or if this is no object.
    [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;

    // Returns the members of an object; none of another value.
    [[nodiscard]] std::vector<std::pair<std::string, JsonView>> members() const;

    // Returns the elements of an array; none of another value.
    [[nodiscard]] std::vector<JsonView> elements() const;

    // Returns the value as bool, as an integer in range or as std::string; nothing if it is none.
    template <class T>
    [[nodiscard]] std::optional<T> get() const {
        if constexpr (std::same_as<T, bool>) {
            return is(JsonNode::Kind::True)    ? std::optional(true)
                   : is(JsonNode::Kind::False) ? std::optional(false)
                                               : std::nullopt;
        } else if constexpr (std::integral<T>) {
            if (!is(JsonNode::Kind::Integer))
                return std::nullopt;
            T number{};
            const auto [end, error] =
                std::from_chars(text_.data() + node().begin, text_.data() + node().end, number);
            return error == std::errc{} && end == text_.data() + node().end ? std::optional(number)
                                                                            : std::nullopt;
        } else {
            static_assert(std::same_as<T, std::string>);
            return is(JsonNode::Kind::String) ? std::optional(string_of(text_, node()))
                                              : std::nullopt;
        }
    }

    // Returns the value with all that is in it; null of nothing.
    [[nodiscard]] Json value() const;

  private:
    JsonView(std::string_view text, const std::vector<JsonNode>& nodes, size_t at)
        : text_(text), nodes_(&nodes), at_(at) {}

    [[nodiscard]] const JsonNode& node() const { return (*nodes_)[at_]; }

    [[nodiscard]] bool is(JsonNode::Kind kind) const {
        return nodes_ != nullptr && node().kind == kind;
    }

    std::string_view text_;
    const std::vector<JsonNode>* nodes_ = nullptr;
    size_t at_ = 0;
};

// As those of base/json.h.
template <class T>
Result<T> as(const JsonView& value, std::string_view name) {
    auto got = value.get<T>();
    if (!got)
        return detail::wrong_type(name, detail::type_label<T>(), value.value());
    return *std::move(got);
}

template <class T>
Result<T> required(const JsonView& object, std::string_view key) {
    const auto found = object.find(key);
    if (!found)
        return detail::missing_member(key, detail::type_label<T>());
    return as<T>(*found, key);
}

template <class T>
Result<T> optional_member(const JsonView& object, std::string_view key, T fallback) {
    if (!object.is_object())
        return detail::missing_member(key, detail::type_label<T>());
    const auto found = object.find(key);
    if (!found || found->is_null())
        return fallback;
    return as<T>(*found, key);
}

}  // namespace base
