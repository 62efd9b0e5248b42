// SPDX-License-Identifier: Apache-2.0
// Steps that make an RDMA device, or move one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hook/steps/claim.h"

namespace hook {

// Makes a software RDMA device (rxe, siw) on a netdev, from inside the netdev's namespace.
struct CreateRdmaLink {
    Where where = Where::Container;
    std::string type;        // "rxe"
    std::string name;        // unique, chosen by rdma-hook
    uint32_t netdev = 0;     // index in the namespace
    uint64_t node_guid = 0;  // made by the driver from the netdev's MAC; identifies the device

    static constexpr std::string_view kKind = "create_rdma_link";
    static constexpr std::tuple kFields{Named{"where", &CreateRdmaLink::where},
                                        Named{"type", &CreateRdmaLink::type},
                                        Named{"name", &CreateRdmaLink::name},
                                        Named{"netdev", &CreateRdmaLink::netdev},
                                        Named{"node_guid", &CreateRdmaLink::node_guid}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const CreateRdmaLink&) const = default;
};

// The RDMA device of a VF. It is found by its function on the host, and by its netdev in the
// container.
struct VfDevice {
    std::string vf;       // PCI address
    uint32_t netdev = 0;  // index in the container's namespace
    Lease lease;          // the VF's lease

    static constexpr std::tuple kFields{Named{"vf", &VfDevice::vf},
                                        Named{"netdev", &VfDevice::netdev},
                                        Named{"lease", &VfDevice::lease}};
    bool operator==(const VfDevice&) const = default;
};

// Moves an RDMA device from the host's namespace into the container's (netns mode exclusive).
struct MoveRdmaDevice {
    std::string name;
    bool with_link = false;           // CreateRdmaLink made it and deletes it wherever it is
    std::optional<VfDevice> of = {};  // nothing: the device is found by name

    static constexpr std::string_view kKind = "move_rdma_device";
    static constexpr std::tuple kFields{Named{"name", &MoveRdmaDevice::name},
                                        Named{"with_link", &MoveRdmaDevice::with_link},
                                        Named{kHere, &MoveRdmaDevice::of}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const MoveRdmaDevice&) const = default;
};

}  // namespace hook
