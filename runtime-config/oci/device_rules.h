// SPDX-License-Identifier: Apache-2.0
// The device rules of config.json (linux.resources.devices). Runtimes walk the list in order, each
// rule overriding the earlier ones, so the last rule that speaks of a device decides.
#pragma once

#include <cstdint>

#include "netns/base/json.h"

namespace oci {

// Whether the rules let `c major:minor` be read and written. No rule: no.
bool allows_device(const base::Json* rules, int64_t major, int64_t minor);

// Whether the last rule for all character devices lets them be read and written.
bool allows_all_devices(const base::Json* rules);

}  // namespace oci
