// SPDX-License-Identifier: Apache-2.0
// The namespace of a step in journals and in words.
#pragma once

#include "hook/steps/site.h"
#include "netns/base/json.h"

namespace hook {

inline std::string_view where_name(Where where) {
    return where == Where::Host ? "host" : "container";
}

inline Result<Where> where_from_json(const base::Json& json) {
    const std::string name = TRY(base::required<std::string>(json, "where"));
    if (name == "host")
        return Where::Host;
    if (name == "container")
        return Where::Container;
    return base::make_error(base::Code::Internal, "'where' must be host or container");
}

}  // namespace hook
