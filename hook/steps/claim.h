// SPDX-License-Identifier: Apache-2.0
// Steps that reserve the container's namespace, and things that only one attachment can have.
#pragma once

#include <string>
#include <string_view>

#include "hook/steps/step.h"

namespace hook {

// Keeps the container's namespace reachable until everything that rdma-hook made in it is undone.
// PinNetns is always the first step, hence the last to be undone.
struct PinNetns {
    std::string path;

    static constexpr std::string_view kKind = "pin_netns";
    static constexpr std::tuple kFields{Named{"path", &PinNetns::path}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const PinNetns&) const = default;
};

// A lease file and the key of its owner, which the file must hold.
struct Lease {
    std::string path;
    std::string owner;

    static constexpr std::tuple kFields{Named{"path", &Lease::path}, Named{"owner", &Lease::owner}};
    bool operator==(const Lease&) const = default;
};

// Returns whether the owner still has the lease. A step that works on a leased thing undoes nothing
// without it. Otherwise an undo that was interrupted after it gave the lease back would later find
// the next holder's work.
Result<bool> is_held(Site& site, const Lease& lease);

// Reserves an address on a parent, or a VF. Makes a lease file, which only one process can do.
struct Claim {
    std::string what;  // for people: "address 10.9.0.1", "VF 3 of enp1s0"
    Lease lease;       // undo leaves a file with another owner

    static constexpr std::string_view kKind = "claim";
    static constexpr std::tuple kFields{Named{"what", &Claim::what}, Named{"lease", &Claim::lease}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const Claim&) const = default;
};

}  // namespace hook
