// SPDX-License-Identifier: Apache-2.0
// Steps that set up a VF and give it back as it was. Also the things that a VF has on the host: its
// settings at the PF, and the names of its netdev and RDMA device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/steps/claim.h"
#include "netns/link.h"
#include "netns/sriov.h"
#include "netns/values/rdma_device.h"

namespace hook {

// ---- Settings
template <>
inline constexpr auto kFieldsOf<netns::VfVlan> =
    std::tuple{Named{"id", &netns::VfVlan::id},
               Named{"qos", &netns::VfVlan::qos},
               Named{"802.1ad", &netns::VfVlan::protocol}};
template <>
inline constexpr auto kFieldsOf<netns::VfRate> =
    std::tuple{Named{"min", &netns::VfRate::min}, Named{"max", &netns::VfRate::max}};
template <>
inline constexpr auto kFieldsOf<netns::VfSettings> =
    std::tuple{Named{"mac", &netns::VfSettings::mac},
               Named{"vlan", &netns::VfSettings::vlan},
               Named{"rate", &netns::VfSettings::rate},
               Named{"spoofchk", &netns::VfSettings::spoofchk},
               Named{"trust", &netns::VfSettings::trust},
               Named{"link_state", &netns::VfSettings::link_state},
               Named{"node_guid", &netns::VfSettings::node_guid},
               Named{"port_guid", &netns::VfSettings::port_guid}};

bool is_empty(const netns::VfSettings& settings);
// Returns the members of `wanted` that differ from `present`.
netns::VfSettings difference(const netns::VfSettings& wanted, const netns::VfSettings& present);
// Returns the members of `present` that `chosen` has, too.
netns::VfSettings members_of(const netns::VfSettings& chosen, const netns::VfSettings& present);
// Returns the keys of annotations, without "rdma.", for the members that `asked` has and `present`
// has not.
std::vector<std::string_view> keys_of_missing(const netns::VfSettings& asked,
                                              const netns::VfSettings& present = {});

// ---- Names. The kernel gives a bound device the first free name. So two VFs that are bound at the
// same time may each come back under the other's name. A VF that finds its name taken gives up the
// name that it was given. It uses its PCI address until its own name is free.

// Returns a name made of the PCI address; it fits the length of an interface's name.
std::string interim_name(const std::string& vf);

// Returns the RDMA device of the VF, if it is on the host.
Result<std::optional<netns::RdmaDevice>> rdma_device_of(Site& site, const std::string& vf);

// ---- Steps
// Restores a VF. apply() changes nothing. Its undo runs after that of the later steps and gives a
// VF on the host its earlier form: driver, names, MAC, MTU, alias, down. A holder that could set
// more than that (Site::net_admin) leaves a VF that needs a new netdev: its driver is bound again.
//
// A VF that is gone, or that an administrator bound to another driver, stays as it is: the undo is
// done.
struct RestoreVf {
    std::string vf;      // PCI address
    std::string driver;  // the driver that was bound
    std::string name;    // its netdev's name
    std::string alias;
    std::vector<std::string> altnames;
    netns::Mac mac;
    uint32_t mtu = 0;        // bytes
    std::string rdma;        // name of its RDMA device; empty: it has none
    uint64_t node_guid = 0;  // the RDMA device's
    bool rebound = false;    // the plan binds it again; the old MAC or GUID may need that, too
    Lease lease;             // the VF's lease

    static constexpr std::string_view kKind = "restore_vf";
    static constexpr std::tuple kFields{Named{"vf", &RestoreVf::vf},
                                        Named{"driver", &RestoreVf::driver},
                                        Named{"name", &RestoreVf::name},
                                        Named{"alias", &RestoreVf::alias},
                                        Named{"altnames", &RestoreVf::altnames},
                                        Named{"mac", &RestoreVf::mac},
                                        Named{"mtu", &RestoreVf::mtu},
                                        Named{"rdma", &RestoreVf::rdma},
                                        Named{"node_guid", &RestoreVf::node_guid},
                                        Named{"rebound", &RestoreVf::rebound},
                                        Named{"lease", &RestoreVf::lease}};
    [[nodiscard]] std::string describe() const;

    Result<> apply(Site& /*site*/) const { return {}; }

    Result<Undo> undo(Site& site) const;
    bool operator==(const RestoreVf&) const = default;
};

// Writes settings of a VF through its PF; undo writes the earlier ones back.
struct ConfigureVf {
    std::string pf;            // PCI address
    uint32_t number = 0;       // the VF's number
    std::string vf;            // its PCI address; another VF of that number is not touched
    netns::VfSettings before;  // earlier values of the members in `after`
    netns::VfSettings after;
    Lease lease;  // the VF's lease

    static constexpr std::string_view kKind = "configure_vf";
    static constexpr std::tuple kFields{Named{"pf", &ConfigureVf::pf},
                                        Named{"number", &ConfigureVf::number},
                                        Named{"vf", &ConfigureVf::vf},
                                        Named{"before", &ConfigureVf::before},
                                        Named{"after", &ConfigureVf::after},
                                        Named{"lease", &ConfigureVf::lease}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const ConfigureVf&) const = default;
};

// Binds the driver of a VF again: some drivers read MAC and GUIDs only then. RestoreVf, before it
// in the plan, repairs a VF that was left without a driver.
struct RebindVf {
    std::string vf;  // PCI address
    std::string driver;
    bool rdma = false;      // the VF has an RDMA device, too
    std::string rdma_name;  // the RDMA device's name; empty: it has none

    static constexpr std::string_view kKind = "rebind_vf";
    static constexpr std::tuple kFields{Named{"vf", &RebindVf::vf},
                                        Named{"driver", &RebindVf::driver},
                                        Named{"rdma", &RebindVf::rdma},
                                        Named{"rdma_name", &RebindVf::rdma_name}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;

    Result<Undo> undo(Site& /*site*/) const { return Undo::gone(); }

    bool operator==(const RebindVf&) const = default;
};

// Moves the netdev of a VF from the host's namespace into the container's, up, under a name and
// index that rdma-hook chose. Both ways, its PCI address finds it, whatever its name is then.
struct MoveLink {
    std::string vf;           // PCI address
    std::string host_name;    // its name on the host
    uint32_t host_index = 0;  // its index there; taken again if it is free
    uint32_t host_mtu = 0;    // bytes
    std::string host_alias;
    std::vector<std::string> altnames;  // its altnames on the host
    std::string name;                   // its name in the container
    uint32_t index = 0;                 // its index there
    uint32_t mtu = 0;                   // bytes
    Lease lease;                        // the VF's lease
    std::optional<netns::Mac> mac;      // nothing: the MAC stays

    static constexpr std::string_view kKind = "move_link";
    static constexpr std::tuple kFields{Named{"vf", &MoveLink::vf},
                                        Named{"host_name", &MoveLink::host_name},
                                        Named{"host_index", &MoveLink::host_index},
                                        Named{"host_mtu", &MoveLink::host_mtu},
                                        Named{"host_alias", &MoveLink::host_alias},
                                        Named{"altnames", &MoveLink::altnames},
                                        Named{"name", &MoveLink::name},
                                        Named{"index", &MoveLink::index},
                                        Named{"mtu", &MoveLink::mtu},
                                        Named{"lease", &MoveLink::lease},
                                        Named{"mac", &MoveLink::mac}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const MoveLink&) const = default;
};

}  // namespace hook
