// SPDX-License-Identifier: Apache-2.0
// The codec of journals: structs as JSON objects, by their lists of fields (hook/steps/step.h). They
// are written as text, and read where the text lies.
//
// Members stand in the order of the list. An optional member that is not set is left out. A missing
// vector or struct is read as an empty one. A value without members has a Form.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "hook/steps/step.h"
#include "netns/base/json_view.h"
#include "netns/base/type_traits.h"
#include "netns/sriov.h"
#include "netns/values/address.h"
#include "netns/values/child_type.h"

namespace hook {

using base::JsonView;

// The form of a value in JSON. save() returns a text, a number or a truth value; load() returns the
// value again, or nothing. kBroken is the error in that case: {0} is the owner of the object, {1}
// the member's name.
template <class T>
struct Form {
    static_assert(std::is_arithmetic_v<T> || std::same_as<T, std::string>);
    static constexpr char kBroken[] = "{0}: broken {1}";

    static const T& save(const T& value) { return value; }

    static std::optional<T> load(T value) { return value; }
};

// The form of a value that is a text, which `Parse` reads.
template <class T, auto Parse>
struct TextForm {
    static constexpr char kBroken[] = "{0}: broken {1}";

    static std::string save(const T& value) { return std::string(netns::to_string(value)); }

    static auto load(const std::string& text) { return Parse(text); }
};

template <>
struct Form<netns::Mac> : TextForm<netns::Mac, netns::parse_mac> {
    static constexpr char kBroken[] = "{0}: broken MAC";
};

template <>
struct Form<netns::Gid> : TextForm<netns::Gid, netns::parse_gid> {
    static constexpr char kBroken[] = "{0}: broken GID";
};

template <>
struct Form<netns::Address> : TextForm<netns::Address, netns::parse_cidr> {};

template <>
struct Form<netns::ChildKind> : TextForm<netns::ChildKind, netns::parse_child_kind> {
    static constexpr char kBroken[] = "{0}: unknown type";
};

template <>
struct Form<netns::MacvlanMode> : TextForm<netns::MacvlanMode, netns::parse_macvlan_mode> {
    static constexpr char kBroken[] = "{0}: unknown type";
};

template <>
struct Form<HostAddress> {
    static constexpr char kBroken[] = "{0}: broken {1}";

    static std::string save(const HostAddress& host) { return netns::ip_string(host.address); }

    static std::optional<HostAddress> load(const std::string& text) {
        const auto address = netns::parse_ip(text);
        return address ? std::optional{HostAddress{*address}} : std::nullopt;
    }
};

// The member "v6": true for IPv6.
template <>
struct Form<netns::Family> {
    static constexpr char kBroken[] = "{0}: broken {1}";

    static bool save(netns::Family family) { return family == netns::Family::V6; }

    static auto load(bool v6) { return std::optional{v6 ? netns::Family::V6 : netns::Family::V4}; }
};

// The member "802.1ad": true for that protocol.
template <>
struct Form<netns::VlanProtocol> {
    static constexpr char kBroken[] = "{0}: broken {1}";

    static bool save(netns::VlanProtocol protocol) {
        return protocol == netns::VlanProtocol::Dot1ad;
    }

    static auto load(bool ad) {
        return std::optional{ad ? netns::VlanProtocol::Dot1ad : netns::VlanProtocol::Dot1q};
    }
};

template <>
struct Form<netns::VfLinkState> {
    static constexpr char kBroken[] = "{0}: broken {1}";

    static uint8_t save(netns::VfLinkState state) { return static_cast<uint8_t>(state); }

    static auto load(uint8_t number) {
        return std::optional{static_cast<netns::VfLinkState>(number % 3)};
    }
};

template <>
struct Form<Where> {
    static constexpr char kBroken[] = "'{1}' must be host or container";

    static std::string save(Where where) { return std::string(where_name(where)); }

    static std::optional<Where> load(const std::string& name) {
        for (const Where where : {Where::Host, Where::Container}) {
            if (name == where_name(where))
                return where;
        }
        return std::nullopt;
    }
};

namespace codec {
using base::kIsOptional;
using base::kIsVector;

template <class T>
inline constexpr size_t kFieldCount =
    std::tuple_size_v<std::remove_cvref_t<decltype(kFieldsOf<T>)>>;

// ---- writing
template <class T>
void put_fields(std::string& out, const T& value);

template <class T>
void put(std::string& out, std::string_view name, const T& value) {
    if constexpr (kIsOptional<T>) {
        if (value)
            put(out, name, *value);
    } else if constexpr (kIsVector<T>) {
        base::append_name(out, name);
        out += '[';
        for (const auto& element : value) {
            if (!out.ends_with('['))
                out += ',';
            base::append_json(out, Form<typename T::value_type>::save(element));
        }
        out += ']';
    } else if constexpr (kFieldCount<T> == 0) {
        base::append_member(out, name, Form<T>::save(value));
    } else if (name == kHere) {
        put_fields(out, value);
    } else {
        base::append_name(out, name);
        out += '{';
        put_fields(out, value);
        out += '}';
    }
}

template <class T>
void put_fields(std::string& out, const T& value) {
    const auto put_each = [&](const auto&... field) {
        (put(out, field.name, value.*field.member), ...);
    };
    std::apply(put_each, kFieldsOf<T>);
}

// ---- reading
// The type in JSON of a T.
template <class T>
using Raw = std::remove_cvref_t<decltype(Form<T>::save(std::declval<const T&>()))>;

template <class T>
Result<> load(Result<Raw<T>> raw, std::string_view owner, std::string_view name, T& value) {
    auto loaded = Form<T>::load(TRY(std::move(raw)));
    if (!loaded)
        return base::make_error(base::Code::Internal, fmt::format(Form<T>::kBroken, owner, name));
    value = *std::move(loaded);
    return {};
}

template <class T>
Result<> take_fields(const JsonView& object, std::string_view owner, T& value);

// Returns whether the object has the member. For a struct whose members stand beside the others,
// its first member decides.
template <class T>
bool has(const JsonView& object, std::string_view name) {
    if constexpr (kFieldCount<T> != 0)
        return object.find(name == kHere ? std::get<0>(kFieldsOf<T>).name : name).has_value();
    else
        return object.find(name).has_value();
}

template <class T>
Result<> take(const JsonView& object, std::string_view owner, std::string_view name, T& value) {
    if constexpr (kIsOptional<T>) {
        if (!has<typename T::value_type>(object, name))
            return {};
        return take(object, owner, name, value.emplace());
    } else if constexpr (kIsVector<T>) {
        using Element = typename T::value_type;
        const auto list = object.find(name);
        if (!list)
            return {};
        if (!list->is_array())
            return base::make_error(base::Code::Internal,
                                    fmt::format("'{}' must be an array", name));
        for (const JsonView& each : list->elements())
            TRY(load(base::as<Raw<Element>>(each, name), owner, name, value.emplace_back()));
        return {};
    } else if constexpr (kFieldCount<T> == 0) {
        return load(base::required<Raw<T>>(object, name), owner, name, value);
    } else {
        if (name == kHere)
            return take_fields(object, owner, value);
        return take_fields(object.find(name).value_or(JsonView{}), owner, value);
    }
}

// Reads the members in order and stops at the first error.
template <class T>
Result<> take_fields(const JsonView& object, std::string_view owner, T& value) {
    Result<> done;
    const auto take_each = [&](const auto&... field) {
        return ((done = take(object, owner, field.name, value.*field.member)).has_value() && ...);
    };
    static_cast<void>(std::apply(take_each, kFieldsOf<T>));
    return done;
}
}  // namespace codec

// Returns the text of an object with the members of a struct.
template <class T>
std::string encode(const T& value) {
    std::string text = "{";
    codec::put_fields(text, value);
    text += '}';
    return text;
}

// Returns the struct again. Errors name `owner` as the owner of the object.
template <class T>
Result<T> decode(const JsonView& object, std::string_view owner) {
    T value{};
    TRY(codec::take_fields(object, owner, value));
    return value;
}

template <class T>
Result<T> decode(std::string_view text, std::string_view owner) {
    const auto nodes = TRY(base::scan_json(text, owner));
    return decode<T>(JsonView(text, nodes), owner);
}

}  // namespace hook
