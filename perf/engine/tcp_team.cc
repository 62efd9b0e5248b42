// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/tcp_team.h"

namespace perf {

Result<std::unique_ptr<TcpTeam>> TcpTeam::create(const Point& point,
                                                 Side side,
                                                 const Waiting& waiting) {
    std::unique_ptr<TcpTeam> team(new TcpTeam(point, side, waiting));
    TRY(team->make_groups([&](uint32_t first, uint32_t count) {
        return TcpGroup::create(point, side, first, count);
    }));
    return team;
}

Result<> TcpTeam::connect(Streams streams) {
    for (uint32_t number = 0; number < point_.qps; ++number)
        TRY(lane(number).connect(std::move(streams[number])));
    return {};
}

Result<Checked> TcpTeam::fetch(uint32_t, const Round&) {
    return make_error(Code::BadInput, "nothing can be fetched over TCP");
}

}  // namespace perf
