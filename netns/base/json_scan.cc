// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json_scan.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

namespace base {

namespace {
using Kind = JsonNode::Kind;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // editors write it
constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

// Returns the number of bytes, of eight, before the first that ends the plain part of a string.
size_t plain_bytes(const char* text) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text, sizeof bytes);
    const uint64_t found = not_plain(bytes);
    if (found == 0)
        return sizeof bytes;
    return std::endian::native == std::endian::little
               ? static_cast<size_t>(std::countr_zero(found)) / 8
               : 0;
}

// Returns the size of the well-formed character beyond ASCII at the beginning; 0: there is none.
size_t character_size(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size)
        return 0;
    unsigned c = lead & 0x7fU >> size;
    for (const char next : text.substr(1, size - 1)) {
        if ((next & 0xc0) != 0x80)
            return 0;
        c = c << 6U | (next & 0x3f);
    }
    // Neither a longer form of another character, nor half of a surrogate pair, nor out of range.
    const bool fits = size == 2 || (size == 3 && c >= 0x800 && (c < 0xd800 || c > 0xdfff)) ||
                      (size == 4 && c >= 0x10000 && c <= 0x10ffff);
    return fits ? size : 0;
}

constexpr size_t kUnitSize = 6;

// Returns the number of "\u" and four hex digits; nothing for another text.
std::optional<unsigned> code_unit(std::string_view text) {
    if (text.size() < kUnitSize || !text.starts_with("\\u"))
        return std::nullopt;
    unsigned unit = 0;
    const char* end = text.data() + kUnitSize;
    const auto [stop, error] = std::from_chars(text.data() + 2, end, unit, 16);
    return error == std::errc{} && stop == end ? std::optional(unit) : std::nullopt;
}

struct Escape {
    size_t size = 0;  // 0: it is none
    unsigned character = 0;
};

// Reads the escape at the beginning of the text, which is a backslash. A character beyond U+FFFF
// has two parts.
Escape escape_at(std::string_view text) {
    const size_t simple = text.size() < 2 ? kEscapes.npos : kEscapes.find(text[1]);
    if (simple != kEscapes.npos)
        return {2, static_cast<unsigned>(kEscaped[simple])};
    const auto first = code_unit(text);
    if (!first || *first < 0xd800 || *first > 0xdfff)
        return first ? Escape{kUnitSize, *first} : Escape{};
    const auto second = code_unit(text.substr(kUnitSize));
    if (*first > 0xdbff || !second || *second < 0xdc00 || *second > 0xdfff)
        return {};
    return {2 * kUnitSize, 0x10000 + ((*first - 0xd800) << 10U) + (*second - 0xdc00)};
}

void append_character(std::string& out, unsigned c) {
    constexpr unsigned kLeads[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out += static_cast<char>(kLeads[more] | c >> 6 * more);
    while (more-- > 0)
        out += static_cast<char>(0x80 | (c >> 6 * more & 0x3f));
}

class Scanner {
  public:
    Scanner(std::string_view text, std::string_view stop_at)
        : text_(text), at_(text.data()), end_(at_ + text.size()), stop_at_(stop_at) {}

    Result<std::vector<JsonNode>> scan(std::string_view what) {
        if (text_.size() > std::numeric_limits<uint32_t>::max())
            return make_error(Code::BadInput, std::string(what) + " is too large");
        constexpr size_t kBytesPerNode = 8;  // usually more
        nodes_.reserve(std::min<size_t>(text_.size() / kBytesPerNode + 8, 4096));
        if (text_.starts_with(kByteOrderMark))
            at_ += kByteOrderMark.size();
        const bool done = value() ? is_end() : stopped_ && close(0);
        if (!done)
            return make_error(Code::BadInput,
                              std::string(what) + " is not valid JSON: " + complaint_);
        return std::move(nodes_);
    }

  private:
    static constexpr size_t kMaxDepth = 64;  // deeper than any config.json; this recurses
    static constexpr size_t kFew = 32;       // up to this size comparing is faster than a set

    // Returns the next byte; 0 at the end. A NUL is valid nowhere.
    [[nodiscard]] char peek() const { return at_ == end_ ? '\0' : *at_; }

    [[nodiscard]] uint32_t offset() const { return static_cast<uint32_t>(at_ - text_.data()); }

    [[nodiscard]] std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

    bool fail(std::string why) {
        complaint_ = std::move(why) + " at byte " + std::to_string(offset());
        return false;
    }

    bool unexpected() {
        return fail(at_ == end_ ? "it ends too early" : "unexpected '" + printable({at_, 1}) + "'");
    }

    char skip_space() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')
            ++at_;
        return peek();
    }

    bool accept(char c) {
        if (skip_space() != c)
            return false;
        ++at_;
        return true;
    }

    bool is_end() { return (skip_space() == '\0' && at_ == end_) || unexpected(); }

    JsonNode& add(Kind kind) {
        const uint32_t begin = offset();
        return nodes_.emplace_back(
            JsonNode{begin, begin, static_cast<uint32_t>(nodes_.size() + 1), 0, kind, false});
    }

    bool value() {
        switch (skip_space()) {
            case '{':
                return list(Kind::Object, '}');
            case '[':
                return list(Kind::Array, ']');
            case '"':
                return string();
            case 't':
                return literal("true", Kind::True);
            case 'f':
                return literal("false", Kind::False);
            case 'n':
                return literal("null", Kind::Null);
            default:
                return number();
        }
    }

    bool literal(std::string_view word, Kind kind) {
        if (!rest().starts_with(word))
            return unexpected();
        add(kind).end += static_cast<uint32_t>(word.size());
        at_ += word.size();
        return true;
    }

    bool digits() {
        const char* first = at_;
        while (peek() >= '0' && peek() <= '9')
            ++at_;
        return at_ != first || unexpected();
    }

    bool number() {
        const char* first = at_;
        JsonNode& node = add(Kind::Integer);
        if (peek() == '-')
            ++at_;
        if (peek() == '0')
            ++at_;
        else if (!digits())
            return false;
        if (peek() == '.') {
            node.kind = Kind::Float;
            ++at_;
            if (!digits())
                return false;
        }
        if (peek() == 'e' || peek() == 'E') {
            node.kind = Kind::Float;
            ++at_;
            if (peek() == '+' || peek() == '-')
                ++at_;
            if (!digits())
                return false;
        }
        node.end = offset();
        constexpr std::ptrdiff_t kSafe = 300;  // digits of a whole number that a double holds
        if ((node.kind == Kind::Float || at_ - first > kSafe) &&
            !std::isfinite(double_of({first, at_})))
            return fail("a number that is too large");
        return true;
    }

    bool string() {
        ++at_;
        JsonNode& node = add(Kind::String);
        for (;;) {
            while (end_ - at_ >= 8) {
                const size_t plain = plain_bytes(at_);
                at_ += plain;
                if (plain != 8)
                    break;
            }
            const auto c = static_cast<unsigned char>(peek());
            size_t size = 1;
            if (c == '"') {
                node.end = offset();
                ++at_;
                return true;
            }
            if (c == '\\') {
                node.escaped = true;
                size = escape_at(rest()).size;
            } else if (c < ' ') {
                return at_ == end_ ? unexpected() : fail("control character in a string");
            } else if (c >= 0x80) {
                size = character_size(rest());
            }
            if (size == 0)
                return fail(c == '\\' ? "unknown escape" : "a string that is not UTF-8");
            at_ += size;
        }
    }

    bool close(size_t self) {
        --depth_;
        nodes_[self].end = offset();
        nodes_[self].next = static_cast<uint32_t>(nodes_.size());
        return nodes_[self].kind == Kind::Array || keys_differ(self);
    }

    // Scans an array or object to its end.
    bool list(Kind kind, char end) {
        const size_t self = nodes_.size();
        if (++depth_ > kMaxDepth)
            return fail("nested deeper than 64 levels");
        add(kind);
        ++at_;
        if (accept(end))
            return close(self);
        do {
            if (!(kind == Kind::Object ? member() : value()))
                return false;
            ++nodes_[self].size;
        } while (accept(','));
        return accept(end) ? close(self) : unexpected();
    }

    bool member() {
        if (skip_space() != '"')
            return unexpected();
        if (!string())
            return false;
        if (depth_ == 1 && !stop_at_.empty() && string_of(text_, nodes_.back()) == stop_at_) {
            nodes_.pop_back();
            stopped_ = true;
            return false;
        }
        return accept(':') ? value() : unexpected();
    }

    bool twice(std::string_view key) {
        complaint_ = "key '" + printable(key) + "' twice in one object";
        return false;
    }

    [[nodiscard]] std::string_view raw(const JsonNode& node) const {
        return text_.substr(node.begin, node.end - node.begin);
    }

    // Checks the keys of an object.
    bool keys_differ(size_t self) {
        keys_.clear();
        bool simple = nodes_[self].size <= kFew;
        for (size_t i = self + 1; i < nodes_.size(); i = nodes_[i + 1].next) {
            keys_.push_back(raw(nodes_[i]));
            simple = simple && !nodes_[i].escaped;
        }
        if (!simple)
            return many_keys_differ(self);
        for (size_t i = 1; i < keys_.size(); ++i) {
            for (size_t k = 0; k < i; ++k) {
                if (keys_[i] == keys_[k])
                    return twice(keys_[i]);
            }
        }
        return true;
    }

    bool many_keys_differ(size_t self) {
        std::unordered_set<std::string> keys;
        for (size_t i = self + 1; i < nodes_.size(); i = nodes_[i + 1].next) {
            const auto [key, added] = keys.insert(string_of(text_, nodes_[i]));
            if (!added)
                return twice(*key);
        }
        return true;
    }

    std::string_view text_;
    const char* at_;
    const char* end_;
    std::string_view stop_at_;
    bool stopped_ = false;
    size_t depth_ = 0;
    std::vector<JsonNode> nodes_;
    std::vector<std::string_view> keys_;
    std::string complaint_;
};
}  // namespace

Result<std::vector<JsonNode>> scan_json(std::string_view text,
                                        std::string_view what,
                                        std::string_view stop_at) {
    return Scanner(text, stop_at).scan(what);
}

std::string string_of(std::string_view text, const JsonNode& node) {
    text = text.substr(node.begin, node.end - node.begin);
    if (!node.escaped)
        return std::string(text);
    std::string out;
    while (!text.empty()) {
        const size_t plain = std::min(text.find('\\'), text.size());
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            break;
        const Escape escape = escape_at(text);
        append_character(out, escape.character);
        text.remove_prefix(escape.size);
    }
    return out;
}

double double_of(std::string_view number) {
    return std::strtod(std::string(number).c_str(), nullptr);
}

}  // namespace base
