// SPDX-License-Identifier: Apache-2.0
// Context: the things that every decision about containers needs.
#pragma once

#include "hook/request/config.h"
#include "hook/state/store.h"
#include "netns/host.h"

namespace hook {

struct Context {
    netns::Host& host;
    const Config& config;
    const Store& store;
    // True if things that an undo cannot see are taken for gone: rdmactl gc --forget.
    bool forget = false;
};

}  // namespace hook
