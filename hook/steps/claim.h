// SPDX-License-Identifier: Apache-2.0
// Steps that reserve: the container's namespace, and what only one attachment can have.
#pragma once

#include <string>
#include <string_view>

#include "hook/steps/step.h"

namespace hook {

// Keeps the container's namespace reachable until all that rdma-hook made in it is undone. Always
// the first step, hence undone last.
struct PinNetns {
    std::string path;

    static constexpr std::string_view kKind = "pin_netns";
    static constexpr std::tuple kFields{Named{"path", &PinNetns::path}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const PinNetns&) const = default;
};

// A lease file, and whose key it must hold.
struct Lease {
    std::string path;
    std::string owner;

    static constexpr std::tuple kFields{Named{"path", &Lease::path}, Named{"owner", &Lease::owner}};
    bool operator==(const Lease&) const = default;
};

// Whether the owner still has the lease. A step that works on what is leased undoes nothing
// without it: an undo that was interrupted after the lease had been given back finds the next
// holder's work.
Result<bool> is_held(Site& site, const Lease& lease);

// Reserves an address on a parent, or a VF: makes a lease file, which only one process can.
struct Claim {
    std::string what;  // for people: "address 10.9.0.1", "VF 3 of enp1s0"
    Lease lease;       // a file with another owner is not given back

    static constexpr std::string_view kKind = "claim";
    static constexpr std::tuple kFields{Named{"what", &Claim::what}, Named{"lease", &Claim::lease}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const Claim&) const = default;
};

}  // namespace hook
