// SPDX-License-Identifier: Apache-2.0
// Keys and modes: the two tables that define the annotations. A key is one row: its name, the
// allowed values, the way to read and write it, and the policy's rule for it. A mode is one row:
// its name, the keys that it takes, and the facts about it that need no host. hook/modes/ has its
// behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hook/request/values.h"
#include "netns/values/child_type.h"

namespace hook {

struct PolicyCheck;  // policy.h
struct Rules;

// One device for one container: `rdma.<index>.*`. An empty member was not asked for.
struct Attachment {
    unsigned index = 0;  // 0-15
    std::string mode;    // a name in the table of modes
    std::string pool;    // name of the pool whose defaults and range apply, or empty
    // Host netdev or RDMA device; "container"; empty: the default route's. If the configuration has
    // a policy, the annotation or the pool names it.
    std::string parent;
    Placement placement = Placement::Container;
    // Name of the interface that is made in the container: "rdma0". Empty where none is made:
    // placement Host, parent "container".
    std::string ifname;
    IpSource ip_source = IpSource::None;
    std::vector<netns::Address> addresses;  // for Static; each a host's address, none twice
    std::vector<netns::Address> gateways;   // at most one a family, in a network of the addresses
    std::vector<RouteRequest> routes;       // none twice
    std::optional<netns::Mac> mac;          // unicast
    std::optional<uint32_t> mtu;            // bytes; at least 1280 with IPv6
    netns::ChildKind child = netns::ChildKind::Macvlan;  // a child of the HCA's netdev
    netns::MacvlanMode macvlan_mode = netns::MacvlanMode::Bridge;
    // The devices that were asked for; empty: the pool's. A mode of the host's devices gives all of
    // them; another gives one, and has one spec here. choose_near() has put devices in the place of
    // those that are near a GPU before anything is decided or recorded.
    std::vector<DeviceSpec> devices;
    Provider provider = Provider::Auto;
    std::optional<uint16_t> vlan;     // 1-4094: the VF's, its bridge port's, or the child's
    std::optional<uint8_t> vlan_qos;  // the VF's; only where there is a VLAN
    std::optional<netns::VlanProtocol> vlan_proto;
    std::optional<bool> spoofchk;
    std::optional<bool> trust;
    std::optional<netns::VfLinkState> link_state;
    std::optional<uint32_t> min_tx_rate;  // Mbit/s; 0: none. Both or neither, as a PF keeps them
    std::optional<uint32_t> max_tx_rate;
    std::string bridge;             // a bridge of Open vSwitch
    std::vector<uint16_t> trunk;    // VLANs that pass tagged, ascending; never beside `vlan`
    bool offload_required = false;  // no attach to a host that forwards in software
    std::optional<uint64_t> node_guid;
    std::optional<uint64_t> port_guid;
    std::optional<bool> umad;  // the device's umad and issm nodes, too
    bool operator==(const Attachment&) const = default;
};

inline constexpr std::string_view kContainerParent = "container";

// Returns the settings of a VF that its PF makes; never a MAC.
netns::VfSettings vf_settings(const Attachment& attachment);
netns::ChildType child_type(const Attachment& attachment);

// Returns whether the RDMA device stays the host's, for all its users alike. No interface is made.
bool stays_on_host(const Attachment& attachment);

// The values of all keys. Limits are not part of an attachment: containers that share one have
// their own limits. The other members are given once for a container.
struct KeyValues : Attachment, Limits {
    std::optional<uint64_t> memlock;  // bytes or kMemlockUnlimited
    std::optional<bool> optional;
};

struct ModeInfo {
    std::string_view name;  // value of rdma.mode, file in hook/modes/, page of docs/modes/
    // Keys that the mode takes beside those of every mode, in the order in which a refusal lists
    // them.
    std::string_view keys;
    // True if the plan gives something that it found free: such plans are made and claimed one at a
    // time.
    bool finds = false;
    // True if the interface's MAC is not the container's own: neighbours may know its addresses by
    // another.
    bool changing_mac = false;
    // True if the mode can work on the interface that the engine made (rdma.parent=container).
    bool on_container_link = false;
    // True if the mode gives devices of the host as they are. It makes nothing, the container may
    // have the host's network, and one request may name several devices.
    bool of_host = false;
    // True if a container without an address of its own would have no identity on the network.
    bool needs_address = false;
    // True if the network is asked for addresses before they are taken, unless the pool says
    // otherwise.
    bool probes = false;
    // True if rdma.device may be near:GPU. The device goes into `parent` if the mode takes that.
    bool by_gpu = false;
    // The module that brings RDMA into a kernel that has none.
    std::string_view module = "rdma_rxe";
    // Checks of `rdmactl doctor` that are only for the modes that list them.
    std::string_view checks = {};
    // The reason why no container gets the mode in RDMA netns mode exclusive; empty: there may be
    // one that does.
    std::string_view only_shared = {};
};

struct Key {
    enum class Reach {
        EveryDevice,  // every attachment may have it
        Mode,         // the mode decides
        Container,    // once for a container: without index, or with index 0
    };

    // Reads a value. Returns nothing, or the reason why it is not allowed, which may be empty.
    using Parse = std::optional<std::string> (*)(KeyValues& values, std::string_view text);
    // Returns the value in its one spelling; empty if it is not set.
    using Print = std::string (*)(const Attachment& attachment);

    struct Value {
        Parse parse = nullptr;
        Print print = nullptr;
        void (*clear)(KeyValues& values) = nullptr;  // resets the value to unset
    };

    // A number that the policy bounds. Attachments that do not ask for it get the bound, and a
    // pool's default is cut to it.
    struct Bound {
        std::optional<uint32_t> KeyValues::*value = nullptr;
        std::optional<uint32_t> Rules::*most = nullptr;
    };

    // A value that needs leave by a rule that is true or false.
    struct Leave {
        enum WithoutPolicy { Given, Refused };

        std::string_view value;  // empty: any
        const char* name = nullptr;
        std::optional<bool> Rules::*rule = nullptr;
        WithoutPolicy without_policy = Given;
    };

    // Another key that contradicts this one: both together are refused. Where an annotation has
    // one, a pool's default for the other is left out. Of two defaults, this key's stays.
    struct Instead {
        std::string_view of;
        const char* why = nullptr;
    };

    std::string_view name;  // without "rdma."
    std::string_view help;  // completes "set rdma.mtu to ..."
    Reach reach = Reach::Mode;
    bool pool_default = false;  // may stand in a pool's "defaults"
    Value value;
    uint8_t in_journal = 0;  // its place in a journal's attachment; 0: not there
    uint8_t in_policy = 0;   // its place among the keys that a policy decides; 0: not there
    void (*policy)(PolicyCheck&) = nullptr;  // decides on the key; policy.cc
    Bound bound = {};
    Leave leave = {};
    Instead instead = {};
};

std::span<const ModeInfo> all_mode_infos();
const ModeInfo* find_mode_info(std::string_view name);
std::vector<std::string_view> mode_names();

std::span<const Key> all_keys();
const Key* find_key(std::string_view name);
std::vector<std::string_view> key_names();
bool takes(const ModeInfo& mode, const Key& key);
bool takes(const ModeInfo& mode, std::string_view key);
// Returns the reason why the mode can give no such device; empty if it can.
std::string why_cannot_give(const ModeInfo& mode, const DeviceSpec& spec);
// Returns the keys that have a place, in its order: &Key::in_journal or &Key::in_policy.
std::vector<const Key*> in_order(uint8_t Key::*place);

// Returns the annotation of an attachment's key: "rdma.mtu", or "rdma.2.mtu".
std::string annotation_key(unsigned index, std::string_view name);
// Returns an error with key, value and the allowed values: "rdma.mtu='9' is not acceptable: too
// small; set rdma.mtu to ...".
base::Error bad_value(std::string_view annotation,
                      std::string_view value,
                      std::string_view reason,
                      std::string_view allowed);
// Stores a value after the checks that hold for all keys: not empty, not too long, no control
// characters. `annotation` is the key as the user wrote it.
Result<> parse_value(const Key& key,
                     std::string_view annotation,
                     std::string_view text,
                     KeyValues& values);
// Stores a default of a pool. BadConfig: the mode takes no such default (containers cannot share an
// address, a MAC or a name), or the value is wrong.
Result<> parse_pool_default(const ModeInfo& mode,
                            std::string_view name,
                            std::string_view text,
                            KeyValues& values);

// The canonical form in journals, in the spelling of annotations. Two attachments are equal if
// their forms are.
Json to_json(const Attachment& attachment);
Result<Attachment> attachment_from_json(const Json& json);

}  // namespace hook
