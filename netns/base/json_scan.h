// SPDX-License-Identifier: Apache-2.0
// Scans a JSON text (RFC 8259): checks all of it, and lists the place of each value. It refuses
// more than the grammar does: a key twice in one object, nesting deeper than 64 levels, a number
// beyond a double, text that is not UTF-8. base/json.h makes values of the list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/result.h"

namespace base {

// A value, or a key, which is a string. The values in an array or object follow it; so does a value
// its key.
struct JsonNode {
    enum class Kind : uint8_t { Null, True, False, Integer, Float, String, Array, Object };
    uint32_t begin;  // offset of its first byte; of a string, the one after the quote
    uint32_t end;    // offset behind it; of a string, of the closing quote
    uint32_t next;   // index of the node behind it and behind all that is in it
    uint32_t size;   // number of elements or members
    Kind kind;
    bool escaped;  // a string that has escapes
};

// Returns the nodes of a text; the first is the whole. `what` names the text in errors. With a
// member to stop at, the list ends before that member of the outermost object, and the rest of the
// text is not looked at.
Result<std::vector<JsonNode>> scan_json(std::string_view text,
                                        std::string_view what,
                                        std::string_view stop_at = {});

// Returns the string of a node of the text.
std::string string_of(std::string_view text, const JsonNode& node);

// Returns 0 if eight bytes of a string are plain: no quote, backslash, control character or byte above
// ASCII. Else the highest bit of the first byte that is not plain is set, and no bit of those before
// it: a subtraction that underflows borrows from the next byte, which then no longer matters.
inline uint64_t not_plain(uint64_t bytes) {
    constexpr uint64_t kEach = 0x0101010101010101;
    return (bytes | (bytes - kEach * ' ') | ((bytes ^ kEach * '"') - kEach) |
            ((bytes ^ kEach * '\\') - kEach)) &
           kEach * 0x80;
}

// Returns the double that is nearest to a number of JSON; infinity if it is too large.
double double_of(std::string_view number);

}  // namespace base
