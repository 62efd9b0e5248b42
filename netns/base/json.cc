// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "netns/base/json_kept.h"
#include "netns/base/json_scan.h"
#include "netns/base/json_view.h"

namespace base {

namespace {
constexpr size_t kMore = 4;  // members that may be added to an object before it grows

// ---- value of a text ----------------------------------------------------------------------------
// Makes the value of scanned text. Objects get their size at once, with room for some more: see
// object_for().
class Tree {
  public:
    Tree(std::string_view text,
         const std::vector<JsonNode>& nodes,
         std::span<const std::string_view> kept,
         size_t at = 0)
        : text_(text), nodes_(nodes), kept_(kept), at_(at) {}

    // Recurses as deep as the text, which scan_json() bounds.
    Json value() {
        const JsonNode& node = nodes_[at_++];
        switch (node.kind) {
            case JsonNode::Kind::Null:
                return nullptr;
            case JsonNode::Kind::True:
                return true;
            case JsonNode::Kind::False:
                return false;
            case JsonNode::Kind::Integer:
                return integer(source(node));
            case JsonNode::Kind::Float:
                return double_of(source(node));
            case JsonNode::Kind::String:
                return string_of(text_, node);
            case JsonNode::Kind::Array:
                return array(node.size);
            case JsonNode::Kind::Object:
                return object(node.size);
        }
        return nullptr;
    }

  private:
    [[nodiscard]] std::string_view source(const JsonNode& node) const {
        return text_.substr(node.begin, node.end - node.begin);
    }

    // A number without a fraction that no integer of 64 bits holds is a double.
    static Json integer(std::string_view digits) {
        const auto read = [&]<class T>(T number) -> Json {
            const auto result =
                std::from_chars(digits.data(), digits.data() + digits.size(), number);
            return result.ec == std::errc{} ? Json(number) : Json(double_of(digits));
        };
        return digits.starts_with('-') ? read(int64_t{}) : read(uint64_t{});
    }

    Json array(size_t size) {
        Json json = Json::array();
        auto& elements = json.get_ref<Json::array_t&>();
        elements.reserve(size);
        while (size-- > 0)
            elements.push_back(value());
        return json;
    }

    Json object(size_t size) {
        Json json = object_for(size + kMore);
        auto& members = json.get_ref<Json::object_t&>();
        while (size-- > 0) {
            std::string key = string_of(text_, nodes_[at_++]);
            const bool keeps = nodes_[at_].kind >= JsonNode::Kind::Array &&
                               std::ranges::find(kept_, key) != kept_.end();
            members.emplace_back(std::move(key), keeps ? kept() : value());
        }
        return json;
    }

    Json kept() {
        const JsonNode& node = nodes_[at_];
        at_ = node.next;
        return kept_json(source(node));
    }

    std::string_view text_;
    const std::vector<JsonNode>& nodes_;
    std::span<const std::string_view> kept_;
    size_t at_;
};

// ---- text of a value ----------------------------------------------------------------------------
// Writes the same text as the library's dump, which looks at each byte of a string. Most strings
// need no escape; others, and numbers with a fraction, are left to the library.
constexpr size_t kUsualText = 2048;

std::string dump_by_library(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns whether nothing in the text needs an escape.
bool is_plain(std::string_view text) {
    constexpr uint64_t kSpaces = 0x2020202020202020;
    uint64_t found = 0;
    uint64_t bytes = 0;
    for (; text.size() >= sizeof bytes; text.remove_prefix(sizeof bytes)) {
        std::memcpy(&bytes, text.data(), sizeof bytes);
        found |= not_plain(bytes);
    }
    bytes = kSpaces;
    text.copy(reinterpret_cast<char*>(&bytes), sizeof bytes);
    return (found | not_plain(bytes)) == 0;
}

void write_kept(std::string& out, const std::vector<uint8_t>& text) {
    out.append(reinterpret_cast<const char*>(text.data()), text.size());
}

// Recurses as deep as the value, which parse_json() bounds.
void write_value(std::string& out, const Json& value);

void write_members(std::string& out, const Json::object_t& members) {
    out += '{';
    for (const auto& [key, member] : members) {
        if (&key != &members.front().first)
            out += ',';
        append_json(out, key);
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
            return append_json(out, value.get_ref<const std::string&>());
        case Json::value_t::number_integer:
            return append_json(out, value.get_ref<const Json::number_integer_t&>());
        case Json::value_t::number_unsigned:
            return append_json(out, value.get_ref<const Json::number_unsigned_t&>());
        case Json::value_t::boolean:
            return append_json(out, value.get_ref<const Json::boolean_t&>());
        case Json::value_t::null:
            out += "null";
            return;
        case Json::value_t::binary:
            return write_kept(out, value.get_binary());
        default:
            out += dump_by_library(value);
    }
}
}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
    return parse_json_keeping({}, text, what);
}

Result<Json> parse_json_keeping(std::span<const std::string_view> names,
                                std::string_view text,
                                std::string_view what) {
    const auto nodes = TRY(scan_json(text, what));
    return Tree(text, nodes, names).value();
}

Json kept_json(std::string_view text) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    return Json::binary(std::vector<uint8_t>(bytes, bytes + text.size()));
}

KeptView::KeptView(const Json& value) {
    if (!value.is_binary())
        return;
    const std::vector<uint8_t>& text = value.get_binary();
    text_ = {reinterpret_cast<const char*>(text.data()), text.size()};
    if (auto nodes = scan_json(text_, "a kept text"))
        nodes_ = *std::move(nodes);
}

Json JsonView::value() const {
    return nodes_ != nullptr ? Tree(text_, *nodes_, {}, at_).value() : Json();
}

Json object_for(size_t members) {
    Json json = Json::object();
    json.get_ref<Json::object_t&>().reserve(members);
    return json;
}

Json object(std::initializer_list<Member> members) {
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

void append_json(std::string& out, std::string_view text) {
    if (!is_plain(text)) {
        out += dump_by_library(text);
        return;
    }
    out += '"';
    out += text;
    out += '"';
}

void append_json(std::string& out, std::span<const std::string> texts) {
    out += '[';
    for (const std::string& text : texts) {
        if (&text != &texts.front())
            out += ',';
        append_json(out, text);
    }
    out += ']';
}

void append_name(std::string& out, std::string_view name) {
    if (!out.ends_with('{'))
        out += ',';
    append_json(out, name);
    out += ':';
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
