// SPDX-License-Identifier: Apache-2.0
// Site: where a plan is carried out or undone: the rooms, the host's namespace and the container's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "netns/base/result.h"
#include "netns/host.h"
#include "netns/namespace.h"
#include "netns/values/address.h"

namespace hook {

using base::Result;

// The namespace that a step works in.
enum class Where { Host, Container };

constexpr std::string_view where_name(Where where) {
    return where == Where::Host ? "host" : "container";
}

struct Site {
    netns::Host& host;
    netns::Netns host_ns;
    // Nothing while undoing, if the container's namespace is no longer pinned and nowhere to be
    // found: what was in it is gone with it.
    std::optional<netns::Netns> container;
    // Undoing: all steps were applied once.
    bool made = false;
    // Undoing: a holder had CAP_NET_ADMIN, and could change whatever the interface is set to.
    bool net_admin = false;
    // Undoing: the operator says that what cannot be seen is gone.
    bool forget = false;
    // Addresses that others have: those that ProbeAddresses found, and what could not be claimed.
    std::vector<netns::Address> in_use = {};

    // The namespace, or nullptr.
    [[nodiscard]] const netns::Netns* ns(Where where) const {
        if (where == Where::Host)
            return &host_ns;
        return container ? &*container : nullptr;
    }
};

}  // namespace hook
