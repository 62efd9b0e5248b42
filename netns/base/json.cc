// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace base {

namespace {
// Builds the value, and refuses what the library's own builder accepts: a duplicate key in one
// object, and nesting deeper than any config.json has (the value's destructor recurses).
class Builder {
  public:
    // Stops at this member of the outermost object, if one is given.
    explicit Builder(std::string_view stop_at = {}) : stop_at_(stop_at) {}

    using number_integer_t = Json::number_integer_t;
    using number_unsigned_t = Json::number_unsigned_t;
    using number_float_t = Json::number_float_t;
    using string_t = Json::string_t;
    using binary_t = Json::binary_t;

    bool null() { return add(nullptr) != nullptr; }

    bool boolean(bool value) { return add(value) != nullptr; }

    bool number_integer(number_integer_t value) { return add(value) != nullptr; }

    bool number_unsigned(number_unsigned_t value) { return add(value) != nullptr; }

    bool number_float(number_float_t value, const string_t& /*text*/) {
        return add(value) != nullptr;
    }

    bool string(string_t& value) { return add(std::move(value)) != nullptr; }

    bool binary(binary_t& /*value*/) { return false; }  // JSON text has none

    bool start_object(size_t /*unknown*/) { return open(Json::value_t::object); }

    bool start_array(size_t /*unknown*/) { return open(Json::value_t::array); }

    bool end_object() { return close(); }

    bool end_array() { return close(); }

    bool key(string_t& name) {
        Level& level = levels_.back();
        if (!stop_at_.empty() && levels_.size() == 1 && name == stop_at_) {
            stopped_ = true;
            return false;
        }
        if (!level.is_new(name)) {
            complaint_ = "key '" + printable(name) + "' twice in one object";
            return false;
        }
        auto& members = level.value->get_ref<Json::object_t&>();
        if (members.empty())
            members.reserve(kUsual);
        members.emplace_back(std::move(name), Json());
        member_ = &members.back().second;
        return true;
    }

    bool parse_error(size_t /*at*/, const std::string& /*token*/, const Json::exception& error) {
        complaint_ = printable(error.what(), 160);
        return false;
    }

    // Returns the value of the text, or why it has none.
    Result<Json> read(std::string_view text, std::string_view what) {
        if (!Json::sax_parse(text, this) && !stopped_)
            return make_error(Code::BadInput,
                              std::string(what) + " is not valid JSON: " + complaint_);
        return std::move(root_);
    }

  private:
    static constexpr size_t kMaxDepth = 64;
    static constexpr size_t kUsual = 16;  // growing copies every key
    static constexpr size_t kFew = 32;    // up to this size a linear search is faster than a set

    struct Level {
        Json* value;
        std::unordered_set<std::string> keys;  // used beyond kFew members

        bool is_new(const std::string& key) {
            const auto& members = value->get_ref<const Json::object_t&>();
            if (members.size() < kFew)
                return std::none_of(members.begin(), members.end(), [&](const auto& member) {
                    return member.first == key;
                });
            if (keys.empty()) {
                for (const auto& member : members)
                    keys.insert(member.first);
            }
            return keys.insert(key).second;
        }
    };

    // Adds the value and returns its place. The place holds until the parent is complete: while an
    // element is open, no element is added to its parent, and none is moved.
    template <class T>
    Json* add(T&& value) {
        if (levels_.empty()) {
            root_ = std::forward<T>(value);
            return &root_;
        }
        Json* parent = levels_.back().value;
        if (parent->is_object()) {
            *member_ = std::forward<T>(value);
            return member_;
        }
        auto& elements = parent->get_ref<Json::array_t&>();
        if (elements.empty())
            elements.reserve(kUsual);
        elements.emplace_back(std::forward<T>(value));
        return &elements.back();
    }

    bool open(Json::value_t type) {
        if (levels_.size() == kMaxDepth) {
            complaint_ = "nested deeper than 64 levels";
            return false;
        }
        levels_.push_back({add(type), {}});
        return true;
    }

    bool close() {
        levels_.pop_back();
        return true;
    }

    std::string_view stop_at_;
    bool stopped_ = false;
    Json root_;
    Json* member_ = nullptr;
    std::vector<Level> levels_;
    std::string complaint_;
};

// ---- text of a value ----------------------------------------------------------------------------
// Writes the same text as the library's dump, which looks at each byte of a string. Most strings
// need no escape; others are left to the library.
constexpr size_t kUsualText = 2048;

std::string dump_by_library(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns whether nothing in the text needs an escape. It tests eight bytes at a time: the highest
// bit of a byte is set in one of these numbers if the byte needs an escape. A subtraction that
// underflows sets it, too, and borrows from the next byte, which then no longer matters.
bool is_plain(std::string_view text) {
    constexpr uint64_t kEach = 0x0101010101010101;
    uint64_t found = 0;
    while (!text.empty()) {
        const size_t size = std::min(text.size(), sizeof found);
        uint64_t bytes = kEach * ' ';
        std::memcpy(&bytes, text.data(), size);
        found |= bytes;                          // 0x80 and above
        found |= bytes + kEach;                  // 0x7f
        found |= bytes - kEach * ' ';            // below a space
        found |= (bytes ^ kEach * '"') - kEach;  // 0 less one
        found |= (bytes ^ kEach * '\\') - kEach;
        text.remove_prefix(size);
    }
    return (found & kEach * 0x80) == 0;
}

void write_string(std::string& out, const std::string& text) {
    if (!is_plain(text)) {
        out += dump_by_library(text);
        return;
    }
    out += '"';
    out += text;
    out += '"';
}

template <class Integer>
void write_number(std::string& out, Integer number) {
    std::array<char, 24> digits;  // NOLINT: not initialised
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

// Recurses as deep as the value, which parse_json() bounds.
void write_value(std::string& out, const Json& value);

void write_members(std::string& out, const Json::object_t& members) {
    out += '{';
    for (const auto& [key, member] : members) {
        if (&key != &members.front().first)
            out += ',';
        write_string(out, key);
        out += ':';
        write_value(out, member);
    }
    out += '}';
}

void write_elements(std::string& out, const Json::array_t& elements) {
    out += '[';
    for (const Json& element : elements) {
        if (&element != &elements.front())
            out += ',';
        write_value(out, element);
    }
    out += ']';
}

void write_value(std::string& out, const Json& value) {
    switch (value.type()) {
        case Json::value_t::object:
            return write_members(out, value.get_ref<const Json::object_t&>());
        case Json::value_t::array:
            return write_elements(out, value.get_ref<const Json::array_t&>());
        case Json::value_t::string:
            return write_string(out, value.get_ref<const std::string&>());
        case Json::value_t::number_integer:
            return write_number(out, value.get_ref<const Json::number_integer_t&>());
        case Json::value_t::number_unsigned:
            return write_number(out, value.get_ref<const Json::number_unsigned_t&>());
        default:
            out += dump_by_library(value);
    }
}
}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
    return Builder().read(text, what);
}

Result<Json> parse_json_before(std::string_view member,
                               std::string_view text,
                               std::string_view what) {
    return Builder(member).read(text, what);
}

Json object_for(size_t members) {
    Json json = Json::object();
    json.get_ref<Json::object_t&>().reserve(members);
    return json;
}

Json object(std::initializer_list<Member> members) {
    constexpr size_t kMore = 4;
    Json json = object_for(members.size() + kMore);
    auto& all = json.get_ref<Json::object_t&>();
    for (const Member& member : members)
        all.emplace_back(std::string(member.key), std::move(member.value));
    return json;
}

const Json& array_of(const Json& json, const char* key) {
    static const Json kNone = Json::array();
    const auto found = json.find(key);
    return found == json.end() ? kNone : *found;
}

std::string dump_json(const Json& value) {
    std::string text;
    text.reserve(kUsualText);
    write_value(text, value);
    return text;
}

namespace detail {
Error wrong_type(std::string_view key, std::string_view expected, const Json& value) {
    return make_error(Code::BadInput,
                      "'" + printable(key) + "' must be " + std::string(expected) + ", not " +
                          printable(dump_json(value), 40));
}

Error missing_member(std::string_view key, std::string_view expected) {
    return make_error(Code::BadInput,
                      "'" + printable(key) + "' is missing (" + std::string(expected) + ")");
}
}  // namespace detail

}  // namespace base
