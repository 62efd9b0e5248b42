// SPDX-License-Identifier: Apache-2.0
#include "hook/request/limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace hook {

using base::Code;
using base::Json;
using base::Result;

namespace {
std::optional<uint32_t> smaller(std::optional<uint32_t> a, std::optional<uint32_t> b) {
    return a && b ? std::min(a, b) : a ? a : b;
}

Result<std::optional<uint32_t>> limit_in(const Json& object,
                                         const char* key,
                                         const std::string& place) {
    const auto value = object.find(key);
    if (value == object.end())
        return std::optional<uint32_t>{};
    if (base::detail::fits<uint32_t>(*value) && *value >= 1 && *value <= kMaxLimit)
        return std::optional{value->get<uint32_t>()};
    return base::make_error(Code::BadConfig,
                            fmt::format("'{}{}' must be a whole number from 1 to {}, not {}",
                                        place.empty() ? "" : place + ".",
                                        key,
                                        kMaxLimit,
                                        base::printable(base::dump_json(*value), 40)));
}
}  // namespace

Limits tightest(const Limits& a, const Limits& b) {
    return {.handles = smaller(a.handles, b.handles), .objects = smaller(a.objects, b.objects)};
}

Result<Limits> limits_from_json(const Json& object, const std::string& place) {
    Limits limits;
    limits.handles = TRY(limit_in(object, kHandlesKey, place));
    limits.objects = TRY(limit_in(object, kObjectsKey, place));
    return limits;
}

Json to_json(const Limits& limits) {
    Json json = Json::object();
    if (limits.handles)
        json[kHandlesKey] = *limits.handles;
    if (limits.objects)
        json[kObjectsKey] = *limits.objects;
    return json;
}

}  // namespace hook
