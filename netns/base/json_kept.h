// SPDX-License-Identifier: Apache-2.0
// Values that stay text, for a document of which few members are needed. A kept value has the type
// binary, which JSON lacks, and dump_json() writes it as it was.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "netns/base/json_view.h"

namespace base {

// Parses a text as parse_json() does, but keeps arrays and objects that are members of these names.
// They are checked like all others.
Result<Json> parse_json_keeping(std::span<const std::string_view> names,
                                std::string_view text,
                                std::string_view what);

// Returns the kept value of a text, which is JSON.
Json kept_json(std::string_view text);

// A kept value to look into, which it outlives. Of another value it views nothing.
class KeptView {
  public:
    explicit KeptView(const Json& value);

    [[nodiscard]] JsonView view() const&& = delete;

    [[nodiscard]] JsonView view() const& {
        return nodes_.empty() ? JsonView() : JsonView(text_, nodes_);
    }

  private:
    std::string_view text_;
    std::vector<JsonNode> nodes_;
};

}  // namespace base
