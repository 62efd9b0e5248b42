// SPDX-License-Identifier: Apache-2.0
// TcpTeam: a team over TCP connections (streams.h), one for each lane.
#pragma once

#include "perf/engine/tcp_lane.h"
#include "perf/engine/team_of.h"
#include "perf/protocol/control.h"

namespace perf {

class TcpTeam : public TeamOf<TcpGroup> {
  public:
    static Result<std::unique_ptr<TcpTeam>> create(const Point& point,
                                                   Side side,
                                                   const Waiting& waiting) {
        std::unique_ptr<TcpTeam> team(new TcpTeam(point, side, waiting));
        TRY(team->make_groups([&](uint32_t first, uint32_t count) {
            return TcpGroup::create(point, side, first, count);
        }));
        return team;
    }

    // One stream for each lane.
    Result<> connect(Streams streams) {
        for (uint32_t number = 0; number < point_.qps; ++number)
            TRY(lane(number).connect(std::move(streams[number])));
        return {};
    }

  private:
    using TeamOf::TeamOf;
};

}  // namespace perf
