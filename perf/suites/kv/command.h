// SPDX-License-Identifier: Apache-2.0
// kv: the key-value exercise against a server.
#pragma once

#include "perf/report/suite.h"
#include "perf/suites/kv/options.h"

namespace perf {

extern const Suite kKv;

namespace kv {
extern const ServedSuite kServedExercise;  // server.cc, by the messages of message.h
}

Exit kv_exercise(const LookOptions& look, const kv::Plan& plan, const Surroundings& around);

}  // namespace perf
