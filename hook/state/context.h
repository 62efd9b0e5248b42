// SPDX-License-Identifier: Apache-2.0
// Context: what every decision about containers is made with.
#pragma once

#include "hook/request/config.h"
#include "hook/state/store.h"
#include "netns/host.h"

namespace hook {

struct Context {
    netns::Host& host;
    const Config& config;
    const Store& store;
    // Takes for gone what an undo cannot see: rdmactl gc --forget.
    bool forget = false;
};

}  // namespace hook
