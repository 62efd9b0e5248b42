// SPDX-License-Identifier: Apache-2.0
// Mode: one way to give a container RDMA. A mode is one file in this folder and one line in
// modes.cc; file name = value of rdma.mode = section of the README.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "hook/request/request.h"
#include "hook/state/store.h"
#include "hook/steps/step.h"

namespace hook {

// What an attachment belongs to: a namespace and an interface in it. Whoever asks for the same one
// shares it as a holder, or is refused.
struct Scope {
    Where where = Where::Container;
    std::string interface;
};

// What a mode looks at while it plans. Read only: planning changes nothing.
struct Survey {
    Site& site;
    const Config& config;
    const Store& store;
    std::string container_key;   // seed of the stable MAC
    std::string attachment_key;  // owner tag of what we make
    std::string container_id;    // for people; empty: not known yet
    std::string uuid;            // seed of names and indexes
    std::string cpus;            // the container's, "0-3,8"; empty: all
    // Not to be given out: others on the network have them. No lease says so.
    std::set<netns::Address> in_use = {};
};

struct Mode {
    std::string_view name;
    std::span<const std::string_view>
        keys;  // annotations it takes, without "rdma.", beside mode and pool
    Result<Scope> (*scope)(const Attachment&, Site&);
    // Everything refused here costs nothing to undo.
    Result<Plan> (*plan)(const Attachment&, const Survey&);
    // Whether the plan gives something that it found free: planned and claimed one at a time.
    bool finds = false;
    // The interface's MAC is not the container's own: neighbours may know its addresses by another.
    bool changing_mac = false;
    // rdma.parent=container: it can work on the interface that the engine made.
    bool on_container_link = false;
    // Without an address of its own a container would have nothing to be known by.
    bool needs_address = false;
    // Addresses are asked for on the network before they are taken, unless the pool says otherwise.
    bool probes = false;
};

// nullptr if there is none of that name.
const Mode* find_mode(std::string_view name);
std::span<const Mode* const> all_modes();

}  // namespace hook
