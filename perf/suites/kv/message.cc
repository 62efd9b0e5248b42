// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/message.h"

#include <fmt/format.h>

#include "perf/protocol/fields.h"

namespace perf::kv {

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
    opening.poll = TRY(read_member<Poll>(frame, "poll"));
    opening.endpoint = TRY(the_endpoint(TRY(parse_endpoints(frame))));
    return opening;
}

Json to_json(const Start& start) {
    return {{"method", name_of(start.method)}, {"version", start.version}};
}

Result<Start> parse_start(const Json& frame) {
    return Start{.method = TRY(read_member<Method>(frame, "method")),
                 .version = TRY(read_member<uint32_t>(frame, "version", 1, kMaxVersion))};
}

Result<Endpoint> the_endpoint(std::vector<Endpoint> endpoints) {
    if (endpoints.size() == 1)
        return endpoints.front();
    return make_error(Code::BadInput, fmt::format("{} queue pairs instead of 1", endpoints.size()));
}

}  // namespace perf::kv
