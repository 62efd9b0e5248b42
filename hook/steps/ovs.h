// SPDX-License-Identifier: Apache-2.0
// Steps that make a VF's representor a port of Open vSwitch.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/steps/claim.h"

namespace hook {

// ovs-vswitchd applies a change in milliseconds. An attach waits long enough for a restart of it;
// an undo, which gc repeats, waits less.
inline constexpr std::chrono::seconds kOvsTimeout{10};
inline constexpr std::chrono::seconds kOvsUndoTimeout{4};

// Brings a representor up with an MTU that fits its VF's, and undoes that. It is found by its port
// of the e-switch, whatever its netdev is called then. A representor that is gone, as in mode
// legacy, needs nothing.
struct RaiseRepresentor {
    std::string eswitch;      // "pci/0000:03:00.0"
    std::string port;         // "pf0vf3"
    uint32_t index = 0;       // its netdev's index while the plan is carried out; may change later
    uint32_t mtu_before = 0;  // bytes
    uint32_t mtu = 0;         // bytes
    bool up_before = false;
    Lease lease;  // the VF's lease

    static constexpr std::string_view kKind = "raise_representor";
    static constexpr std::tuple kFields{Named{"eswitch", &RaiseRepresentor::eswitch},
                                        Named{"port", &RaiseRepresentor::port},
                                        Named{"index", &RaiseRepresentor::index},
                                        Named{"mtu_before", &RaiseRepresentor::mtu_before},
                                        Named{"mtu", &RaiseRepresentor::mtu},
                                        Named{"up_before", &RaiseRepresentor::up_before},
                                        Named{"lease", &RaiseRepresentor::lease}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const RaiseRepresentor&) const = default;
};

// Makes a representor a port of a bridge of Open vSwitch, with rdma-hook's marks on it. Undo
// removes the port that has the marks of this attachment, whatever it is called, and no other.
struct AddOvsPort {
    std::string bridge;
    std::string netdev;          // name
    std::string attachment;      // AKEY
    std::string container;       // id, for people
    uint32_t policing_kbps = 0;  // see netns::OvsPortSpec, also for the members below
    std::vector<uint16_t> trunks;
    std::optional<uint16_t> tag;

    static constexpr std::string_view kKind = "add_ovs_port";
    static constexpr std::tuple kFields{Named{"bridge", &AddOvsPort::bridge},
                                        Named{"netdev", &AddOvsPort::netdev},
                                        Named{"attachment", &AddOvsPort::attachment},
                                        Named{"container", &AddOvsPort::container},
                                        Named{"policing_kbps", &AddOvsPort::policing_kbps},
                                        Named{"trunks", &AddOvsPort::trunks},
                                        Named{"tag", &AddOvsPort::tag}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const AddOvsPort&) const = default;
};

}  // namespace hook
