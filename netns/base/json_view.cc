// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json_view.h"

namespace base {

std::optional<JsonView> JsonView::find(std::string_view key) const {
    if (!is_object())
        return std::nullopt;
    size_t at = at_ + 1;
    for (uint32_t left = node().size; left > 0; --left) {
        const JsonNode& name = (*nodes_)[at];
        const std::string_view raw = text_.substr(name.begin, name.end - name.begin);
        if (name.escaped ? string_of(text_, name) == key : raw == key)
            return JsonView(text_, *nodes_, at + 1);
        at = (*nodes_)[at + 1].next;
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
    std::vector<std::pair<std::string, JsonView>> all;
    if (!is_object())
        return all;
    all.reserve(node().size);
    size_t at = at_ + 1;
    for (uint32_t left = node().size; left > 0; --left) {
        all.emplace_back(string_of(text_, (*nodes_)[at]), JsonView(text_, *nodes_, at + 1));
        at = (*nodes_)[at + 1].next;
    }
    return all;
}

std::vector<JsonView> JsonView::elements() const {
    std::vector<JsonView> all;
    if (!is_array())
        return all;
    all.reserve(node().size);
    size_t at = at_ + 1;
    for (uint32_t left = node().size; left > 0; --left) {
        all.push_back(JsonView(text_, *nodes_, at));
        at = (*nodes_)[at].next;
    }
    return all;
}

}  // namespace base
