// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/message.h"

#include <fmt/format.h>

namespace perf::kv {

using base::Code;
using base::Json;
using base::make_error;
using base::required;
using base::Result;

std::string_view name_of(Method method) {
    return method == Method::Send ? "send" : "read";
}

Json to_json(const Opening& opening) {
    return {{"keys", opening.shape.keys},
            {"value_bytes", opening.shape.value},
            {"seed", opening.shape.seed},
            {"poll", perf::name_of(opening.poll)},
            {"endpoints", perf::to_json(std::vector{opening.endpoint})}};
}

Result<Opening> parse_opening(const Json& frame) {
    Opening opening;
    opening.shape.keys = TRY(required<uint32_t>(frame, "keys"));
    opening.shape.value = TRY(required<uint32_t>(frame, "value_bytes"));
    opening.shape.seed = TRY(required<uint64_t>(frame, "seed"));
    TRY(check_limits(opening.shape));
    opening.poll = TRY(parse_poll(TRY(required<std::string>(frame, "poll"))));
    opening.endpoint = TRY(the_endpoint(TRY(parse_endpoints(frame))));
    return opening;
}

Json to_json(const Start& start) {
    return {{"method", name_of(start.method)}, {"version", start.version}};
}

Result<Start> parse_start(const Json& frame) {
    const auto method = TRY(required<std::string>(frame, "method"));
    const auto version = TRY(required<uint32_t>(frame, "version"));
    if (version < 1 || version > kMaxVersion)
        return make_error(Code::BadInput,
                          fmt::format("'version' is {}, not from 1 to {}", version, kMaxVersion));
    for (const Method known : {Method::Send, Method::Read}) {
        if (method == name_of(known))
            return Start{.method = known, .version = version};
    }
    return make_error(Code::BadInput,
                      "method '" + base::printable(method, 40) + "' is neither send nor read");
}

Result<Endpoint> the_endpoint(std::vector<Endpoint> endpoints) {
    if (endpoints.size() == 1)
        return endpoints.front();
    return make_error(Code::BadInput, fmt::format("{} queue pairs instead of 1", endpoints.size()));
}

}  // namespace perf::kv
