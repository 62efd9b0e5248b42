// SPDX-License-Identifier: Apache-2.0
// TcpTeam: a team over TCP connections (streams.h), one for each lane.
#pragma once

#include "perf/engine/tcp_lane.h"
#include "perf/engine/team_of.h"
#include "perf/protocol/streams.h"

namespace perf {

class TcpTeam : public TeamOf<TcpGroup> {
  public:
    static Result<std::unique_ptr<TcpTeam>> create(const Point& point,
                                                   Side side,
                                                   const Waiting& waiting);

    // One stream for each lane.
    Result<> connect(Streams streams);

    // Nothing can be fetched over TCP: Code::BadInput.
    Result<Checked> fetch(uint32_t lane, const Round& round) override;

  private:
    using TeamOf::TeamOf;
};

}  // namespace perf
