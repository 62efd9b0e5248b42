// SPDX-License-Identifier: Apache-2.0
// Poster: how a queue pair takes work requests. By ibv_wr_*(3) where its provider has them, whose
// callers decide once what is posted; else by ibv_post_send(3), which decides for each request.
#pragma once

#include "perf/engine/ring.h"

namespace perf {

// What a queue pair must be created for (IBV_QP_EX_WITH_*), so that ibv_wr_*(3) post the operation.
uint64_t send_calls_of(ibv_wr_opcode opcode);

// Of requests that all have the operation, with their data inline or not, to a datagram's address
// or a connected peer. `extended`: whether the queue pair has ibv_wr_*(3).
Post poster_of(ibv_wr_opcode opcode, bool has_inline, bool has_address, bool extended);

}  // namespace perf
