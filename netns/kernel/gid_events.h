// SPDX-License-Identifier: Apache-2.0
// The events of an RDMA device's GID table. The kernel fills the table in the background. Programs
// that have the verbs node open hear of it (IB_EVENT_GID_CHANGE on the asynchronous file). That
// takes one write(2), so no libibverbs. Private to netns/kernel/.
#pragma once

#include "netns/base/unique_fd.h"
#include "netns/kernel/busy.h"
#include "netns/values/rdma_device.h"

namespace netns {

class GidEvents {
  public:
    // Starts to listen. A device whose driver wants to be opened by its own library (all but rxe
    // and siw; mlx5 and irdma among them) gives no events. A host without the node gives none,
    // either. Then wait() only sets the pace of looking again.
    static GidEvents open(const Netns& ns, const CharDevice& node);

    // Waits until the table may have changed, or until the deadline. Returns whether it heard an
    // event. Unavailable: the device has gone.
    Result<bool> wait(base::Deadline deadline);

  private:
    base::UniqueFd node_;
    base::UniqueFd events_;
    Pace pace_;
};

}  // namespace netns
