// SPDX-License-Identifier: Apache-2.0
// Mode: one way to give a container RDMA. A mode is one file in this folder, its name below, and
// one row in hook/request/keys.cc, which has the facts that need no host. The file's name is the
// value of rdma.mode and a page below docs/modes.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "hook/request/request.h"
#include "hook/state/context.h"
#include "hook/steps/plan.h"

namespace hook {

// The owner of an attachment: a namespace and an interface in it. A second container that asks for
// the same one shares it as a holder, or is refused.
struct Scope {
    Where where = Where::Container;
    std::string interface;
};

// Returns the scope of an interface in the container's namespace: the attachment's own, or the one
// that the engine made (rdma.parent=container).
Result<Scope> scope_in_container(const Attachment& attachment, Site& site);

// The things that a mode looks at while it plans. Read only: planning changes nothing.
struct Survey : Context {
    Site& site;
    const Container& container;  // its key seeds the stable MAC, its uuid the names
    std::string attachment_key;  // owner tag of every object that is made
    std::string cpus = {};       // the container's CPUs, "0-3,8"; empty: all
    // Addresses that must not be given out: others on the network have them, without a lease.
    std::set<netns::Address> in_use = {};
};

struct Mode {
    std::string_view name;
    // Returns an attachment for each device that this one names, in their order; their indexes are
    // set afterwards. Nullptr: an attachment is one device. Looks at the host and changes nothing.
    Result<std::vector<Attachment>> (*expand)(const Attachment&, const Context&, Site&) = nullptr;
    Result<Scope> (*scope)(const Attachment&, Site&) = scope_in_container;
    // Returns the steps, and the endpoint that they lead to. An error says why this host cannot give
    // the attachment; nothing has to be undone after it.
    Result<Plan> (*plan)(const Attachment&, const Survey&);
    // Checks that the mode can give the device, or what its function has, to a container that names
    // no device but a GPU. Nullptr: the mode does not choose by a GPU.
    Result<> (*check_device)(const netns::RdmaDevice&, const Context&, Site&) = nullptr;
};

extern const Mode kSoftroce, kSoftiwarp, kShared, kVf, kAsap2, kHost;

inline constexpr const Mode* kAllModes[] = {
    &kSoftroce, &kSoftiwarp, &kShared, &kVf, &kAsap2, &kHost};

// Returns the mode of that name, or nullptr.
const Mode* find_mode(std::string_view name);

}  // namespace hook
