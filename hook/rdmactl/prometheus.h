// SPDX-License-Identifier: Apache-2.0
// The counters of rdmactl stats in the text format 0.0.4 of Prometheus.
#pragma once

#include <string>

#include "netns/base/json.h"

namespace hook::ctl {

// Formats the JSON that `rdmactl stats --json` prints.
std::string prometheus_text(const base::Json& stats);

}  // namespace hook::ctl
