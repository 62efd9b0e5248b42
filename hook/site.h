// SPDX-License-Identifier: Apache-2.0
// Site: where a plan is carried out or undone: the rooms, the host's namespace and the container's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "netns/address.h"
#include "netns/base/result.h"
#include "netns/host.h"
#include "netns/namespace.h"

namespace hook {

using base::Result;

// The namespace that a step works in.
enum class Where { Host, Container };

struct Site {
    netns::Host& host;
    netns::Netns host_ns;
    // Nothing while undoing, if the container's namespace is no longer pinned: then nothing of ours
    // can be left in it, for the pin is taken away last.
    std::optional<netns::Netns> container;
    // Undoing: all steps were applied once.
    bool made = false;
    // Undoing: who had the interface could change whatever it is set to (CAP_NET_ADMIN).
    bool net_admin = false;
    // What ProbeAddresses found: addresses that others on the network have.
    std::vector<netns::Address> in_use = {};

    // The namespace, or nullptr.
    [[nodiscard]] const netns::Netns* ns(Where where) const {
        if (where == Where::Host)
            return &host_ns;
        return container ? &*container : nullptr;
    }
};

}  // namespace hook
