// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json.h"

#include <set>
#include <string>
#include <vector>

namespace base {

namespace {
// Refuses what the library would let pass: a key twice in one object, and nesting deeper than any
// config.json has (the tree's destructor recurses).
class Guard {
  public:
    bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
        switch (event) {
            case Json::parse_event_t::object_start:
                open(depth);
                keys_.emplace_back();
                break;
            case Json::parse_event_t::array_start:
                open(depth);
                break;
            case Json::parse_event_t::object_end:
                keys_.pop_back();
                break;
            case Json::parse_event_t::key:
                note_key(parsed.get_ref<const std::string&>());
                break;
            default:
                break;
        }
        return true;
    }

    [[nodiscard]] const std::string& complaint() const { return complaint_; }

  private:
    static constexpr int kMaxDepth = 64;

    void open(int depth) {
        if (depth > kMaxDepth && complaint_.empty())
            complaint_ = "nested deeper than 64 levels";
    }

    void note_key(const std::string& key) {
        if (!keys_.back().insert(key).second && complaint_.empty())
            complaint_ = "key '" + printable(key) + "' twice in one object";
    }

    std::vector<std::set<std::string>> keys_;
    std::string complaint_;
};

bool too_deep(std::string_view text) {
    constexpr int kHopeless = 1000;
    int depth = 0;
    for (const char c : text) {
        if ((c == '[' || c == '{') && ++depth > kHopeless)
            return true;
        if (c == ']' || c == '}')
            --depth;
    }
    return false;
}
}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
    const auto bad = [&](const std::string& why) {
        return make_error(Code::BadInput, std::string(what) + " is not valid JSON: " + why);
    };
    // Brackets inside of strings count too: the bound is far above any honest document.
    if (too_deep(text))
        return bad("nested too deeply");
    try {
        Guard guard;
        Json value = Json::parse(text, std::ref(guard));
        if (!guard.complaint().empty())
            return bad(guard.complaint());
        return value;
    } catch (const Json::exception& e) {
        return bad(printable(e.what(), 160));
    }
}

std::string dump_json(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
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
