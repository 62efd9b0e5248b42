// SPDX-License-Identifier: Apache-2.0
// Fields: how a struct travels as an object of JSON. A row for each member serves both directions:
//
//     template <>
//     inline constexpr auto kFields<Endpoint> = std::array{field<&Endpoint::qpn>("qpn"), ...};
//
// A member is a number, a truth value, an enumeration with words, a text, another value that has a
// Form, a struct with fields, or a list or an optional one of these. What is read is input from
// outside: text becomes printable ASCII of at most kTextLimit bytes, every number has its bounds.
// Unknown members are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "netns/base/json.h"
#include "netns/base/type_traits.h"
#include "perf/protocol/plan.h"

namespace perf {

inline constexpr size_t kTextLimit = 255;

// When a member is there.
enum class Told : uint8_t {
    Always,
    May,    // it may be missing: what stands there is kept
    Later,  // and an older side does not tell it; null is as good
    IfAny   // it may be missing, and is where there is nothing to tell: 0, false, no text
};

template <class T>
struct Field {
    std::string_view name;
    Told told = Told::Always;
    uint64_t low = 0;  // of a number, or of a list's length
    uint64_t high = UINT64_MAX;
    Json (*write)(const T& from) = nullptr;
    Result<> (*read)(const Json& object, const Field& field, T& to) = nullptr;
};

// The rows of a struct; specialized where there are any.
template <class T>
inline constexpr auto kFields = nullptr;

template <class T>
concept Fielded = requires {
    kFields<T>.size();
};

// Another value: save() gives what stands in JSON for it, load(json, name) reads that.
template <class T>
struct Form;

template <class T, Result<T> (*kParse)(std::string_view)>
struct WordForm {
    static Json save(const T& value) { return name_of(value); }

    static Result<T> load(const Json& json, std::string_view name) {
        return kParse(TRY(base::as<std::string>(json, name)));
    }
};

template <Worded E>
struct Form<E> : WordForm<E, parse_word<E>> {};

template <>
struct Form<Poll> : WordForm<Poll, parse_poll> {};

template <>
struct Form<std::optional<Load>> : WordForm<std::optional<Load>, parse_load> {};

// A number, or "auto".
template <>
struct Form<std::optional<uint32_t>> {
    static Json save(const std::optional<uint32_t>& number) {
        return number ? Json(*number) : Json("auto");
    }

    static Result<std::optional<uint32_t>> load(const Json& json, std::string_view name) {
        if (json == "auto")
            return std::optional<uint32_t>();
        return std::optional(TRY(base::as<uint32_t>(json, name)));
    }
};

template <class T>
concept Formed = requires {
    &Form<T>::load;
};

// What the members of a struct must meet together; specialized where there is something.
template <class T>
Result<> check_fields(const T&) {
    return {};
}

template <class T>
Json encode(const T& value);
template <Fielded T>
Result<> read_fields(const Json& object, T& to);

namespace fields {
template <class T, class M>
T owner_of(M T::*);

template <class V>
Result<V> value_of(const Json& json, std::string_view name) {
    if constexpr (Formed<V>) {
        return Form<V>::load(json, name);
    } else if constexpr (Fielded<V>) {
        if (!json.is_object())
            return make_error(Code::BadInput, "'{}' must be an object", name);
        V value;
        TRY(read_fields(json, value));
        return value;
    } else if constexpr (base::kIsOptional<V>) {
        return V(TRY(value_of<typename V::value_type>(json, name)));
    } else if constexpr (std::is_same_v<V, std::string>) {
        return printable(TRY(base::as<std::string>(json, name)), kTextLimit);
    } else {
        return base::as<V>(json, name);
    }
}
}  // namespace fields

// Reads a member, whose number or whose list's length has these bounds.
template <class V>
Result<V> read_member(const Json& object,
                      std::string_view name,
                      uint64_t low = 0,
                      uint64_t high = UINT64_MAX) {
    const auto it = object.is_object() ? object.find(name) : object.end();
    const bool there = object.is_object() && it != object.end();
    if constexpr (base::kIsVector<V>) {
        if (!there || !it->is_array() || it->size() < low || it->size() > high)
            return make_error(Code::BadInput, "'{}' must be a list of {} to {}", name, low, high);
        V list;
        for (const Json& each : *it)
            list.push_back(TRY(fields::value_of<typename V::value_type>(each, name)));
        return list;
    } else if constexpr (Fielded<V>) {
        return fields::value_of<V>(there ? *it : Json(), name);
    } else {
        using Raw = std::conditional_t<std::is_arithmetic_v<V>, V, std::string>;
        if (!there)
            return base::required<Raw>(object, name).error();
        V value = TRY(fields::value_of<V>(*it, name));
        if constexpr (std::is_integral_v<V> && !std::is_same_v<V, bool>) {
            if (std::cmp_less(value, low) || std::cmp_greater(value, high))
                return make_error(
                    Code::BadInput, "'{}' is {}, not from {} to {}", name, value, low, high);
        }
        return value;
    }
}

// The member at the end of the path of members.
template <auto kFirst, auto... kPath>
constexpr auto field(std::string_view name,
                     Told told = Told::Always,
                     uint64_t low = 0,
                     uint64_t high = UINT64_MAX) {
    using T = decltype(fields::owner_of(kFirst));
    return Field<T>{name,
                    told,
                    low,
                    high,
                    [](const T& from) { return encode(((from.*kFirst).*....*kPath)); },
                    [](const Json& object, const Field<T>& row, T& to) -> Result<> {
                        auto& member = ((to.*kFirst).*....*kPath);
                        using V = std::remove_reference_t<decltype(member)>;
                        member = TRY(read_member<V>(object, row.name, row.low, row.high));
                        return {};
                    }};
}

template <class T>
Json encode(const T& value) {
    if constexpr (Fielded<T>) {
        Json out = base::object_for(kFields<T>.size());
        for (const auto& row : kFields<T>) {
            Json member = row.write(value);
            if (row.told != Told::IfAny ||
                !(member.is_null() || member == 0 || member == false || member == ""))
                out[std::string(row.name)] = std::move(member);
        }
        return out;
    } else if constexpr (Formed<T>) {
        return Form<T>::save(value);
    } else if constexpr (base::kIsOptional<T>) {
        return value ? encode(*value) : Json();
    } else if constexpr (base::kIsVector<T>) {
        Json out = Json::array();
        for (const auto& each : value)
            out.push_back(encode(each));
        return out;
    } else {
        return value;
    }
}

// Reads the members in their order, and checks them together.
template <Fielded T>
Result<> read_fields(const Json& object, T& to) {
    for (const auto& row : kFields<T>) {
        const auto it = object.is_object() ? object.find(row.name) : object.end();
        const bool missing = !object.is_object() || it == object.end();
        if ((row.told != Told::Always && missing) ||
            (row.told == Told::Later && !missing && it->is_null()))
            continue;
        TRY(row.read(object, row, to));
    }
    return check_fields(to);
}

}  // namespace perf
