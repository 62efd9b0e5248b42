// SPDX-License-Identifier: Apache-2.0
// The server's half of the key-value exercise, by the messages of message.h.
#pragma once

#include "perf/measure/server_half.h"

namespace perf::kv {

extern const ServedSuite kServedExercise;

}  // namespace perf::kv
