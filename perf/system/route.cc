// SPDX-License-Identifier: Apache-2.0
#include "perf/system/route.h"

#include <algorithm>

#include "perf/system/tcp.h"

namespace perf {

Result<std::vector<Address>> sources_towards(const std::string& host) {
    std::vector<Address> sources;
    for (const Address& target : TRY(addresses_of(host))) {
        const auto source = route_source(target);
        if (source && std::ranges::find(sources, *source) == sources.end())
            sources.push_back(*source);
    }
    if (sources.empty())
        return make_error(Code::Unavailable, "no route leads to " + printable(host))
            .advise("see `ip route` in this container");
    return sources;
}

}  // namespace perf
