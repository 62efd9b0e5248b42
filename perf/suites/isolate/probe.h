// SPDX-License-Identifier: Apache-2.0
// Probe: one queue pair with a queue of its own, for a handful of messages whose every field the
// caller names, the wrong ones too. A refused request leaves a queue pair in error, so each attempt
// takes a fresh one.
#pragma once

#include <memory>
#include <optional>

#include "perf/engine/completer.h"
#include "perf/verbs/queue_pair.h"

namespace perf {

class Probe {
  public:
    // In INIT. RC lets the other side read and write; UD has the queue key.
    static Result<Probe> create(const Device& device, ibv_qp_type type, uint32_t queue_key = 0);

    // Number of queue pair and first packet.
    [[nodiscard]] Endpoint endpoint() const;

    // To RTS; the path MTU is the lesser one of both ports.
    Result<> connect(const DeviceInfo& peer, const Endpoint& remote);

    // The request with `piece` as its data, signaled; and its completion, whatever its status.
    Result<ibv_wc> carry_out(ibv_send_wr request, ibv_sge piece, const Waiting& waiting);

    Result<> receive_into(ibv_sge piece);

    // The next completion; nothing if none comes for as long as patience lasts.
    Result<std::optional<ibv_wc>> next(const Waiting& waiting);

    [[nodiscard]] const End& end() const { return end_; }

  private:
    End end_;
    uint32_t psn_ = 0;
    std::unique_ptr<CompletionQueue> queue_;
    Owned<ibv_qp> qp_;
};

// Work requests that a probe can have outstanding, in each direction.
inline constexpr uint32_t kProbeDepth = 32;

}  // namespace perf
