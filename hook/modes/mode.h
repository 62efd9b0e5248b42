// SPDX-License-Identifier: Apache-2.0
// Mode: one way to give a container RDMA. A mode is one file in this folder, one line in modes.cc
// and one row in hook/request/keys.cc, which says what is known of it without a host; file name =
// value of rdma.mode = section of the README.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "hook/request/request.h"
#include "hook/state/context.h"
#include "hook/steps/plan.h"

namespace hook {

// What an attachment belongs to: a namespace and an interface in it. Whoever asks for the same one
// shares it as a holder, or is refused.
struct Scope {
    Where where = Where::Container;
    std::string interface;
};

// What a mode looks at while it plans. Read only: planning changes nothing.
struct Survey : Context {
    Site& site;
    const Container& container;  // its key is the seed of the stable MAC, its uuid that of names
    std::string attachment_key;  // owner tag of what is made
    std::string cpus = {};       // the container's, "0-3,8"; empty: all
    // Not to be given out: others on the network have them. No lease says so.
    std::set<netns::Address> in_use = {};
};

struct Mode {
    std::string_view name;
    Result<Scope> (*scope)(const Attachment&, Site&);
    // Everything refused here costs nothing to undo.
    Result<Plan> (*plan)(const Attachment&, const Survey&);
};

extern const Mode kSoftroce;
extern const Mode kSoftiwarp;
extern const Mode kShared;
extern const Mode kVf;
extern const Mode kAsap2;

// nullptr if there is none of that name.
const Mode* find_mode(std::string_view name);

}  // namespace hook
