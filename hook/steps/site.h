// SPDX-License-Identifier: Apache-2.0
// Site: the place where a plan is carried out or undone. It has the rooms, the host's namespace and
// the container's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hook/request/names.h"
#include "netns/host.h"
#include "netns/namespace.h"
#include "netns/values/address.h"

namespace hook {

// The namespace that a step works in.
enum class Where { Host, Container };

constexpr std::string_view where_name(Where where) {
    return where == Where::Host ? "host" : "container";
}

struct Site {
    netns::Host& host;
    netns::Netns host_ns;
    // The container's namespace. Nothing while undoing, if it is no longer pinned and cannot be
    // found: its contents are gone with it.
    std::optional<netns::Netns> container;
    // The container is in the host's network namespace: all that is the host's is visible there.
    bool hosts_network = false;
    // Undoing: all steps were applied once.
    bool made = false;
    // Undoing: a holder had CAP_NET_ADMIN and could change every setting of the interface.
    bool net_admin = false;
    // Undoing: the operator says that things which cannot be seen are gone.
    bool forget = false;
    // Addresses that others have: those that ProbeAddresses found, and those that could not be
    // claimed.
    std::vector<netns::Address> in_use = {};

    // Returns the namespace, or nullptr.
    [[nodiscard]] const netns::Netns* ns(Where where) const {
        if (where == Where::Host)
            return &host_ns;
        return container ? &*container : nullptr;
    }
};

}  // namespace hook
