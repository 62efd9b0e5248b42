// SPDX-License-Identifier: Apache-2.0
// Annotations: the table of our keys and the grammar of each value. Nothing here knows of modes,
// pools or of other keys: request.cc puts the pieces together. Every value is hostile input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hook/request/request.h"

namespace hook {

inline constexpr size_t kMaxValueBytes = 1024;
inline constexpr size_t kMaxAddresses = 16;
inline constexpr unsigned kMaxIndex = 15;

// The annotation of an attachment's key: "rdma.mtu", or "rdma.2.mtu".
std::string annotation_key(unsigned index, std::string_view name);

// What keys said, before anything is decided.
struct Wish {
    std::optional<std::string> mode;
    std::optional<std::string> pool;
    std::optional<std::string> parent;
    std::optional<Placement> placement;
    std::optional<std::string> ifname;
    std::optional<IpSource> ip_source;
    std::vector<netns::Address> addresses;  // for Static
    std::optional<std::vector<netns::Address>> gateways;
    std::optional<std::vector<RouteWish>> routes;
    std::optional<netns::Mac> mac;
    std::optional<uint32_t> mtu;
    std::optional<DeviceSpec> device;
    std::optional<Provider> provider;
    std::optional<uint16_t> vlan;
    std::optional<uint8_t> vlan_qos;
    std::optional<netns::VlanProtocol> vlan_proto;
    std::optional<bool> spoofchk;
    std::optional<bool> trust;
    std::optional<netns::VfLinkState> link_state;
    std::optional<uint32_t> min_tx_rate;  // Mbit/s; 0: none
    std::optional<uint32_t> max_tx_rate;
    std::optional<uint64_t> node_guid;
    std::optional<uint64_t> port_guid;
    std::optional<std::string> bridge;
    std::optional<std::vector<uint16_t>> trunk;
    std::optional<bool> offload_required;
    std::optional<netns::ChildKind> child;
    std::optional<netns::MacvlanMode> macvlan_mode;
    std::optional<uint32_t> max_handles;
    std::optional<uint32_t> max_objects;
    std::optional<uint64_t> memlock;
    std::optional<bool> optional;
};

struct Key {
    enum class Reach {
        AnyMode,    // every attachment may have it
        Mode,       // only modes that list it
        Container,  // once a container: without index, or with index 0
    };

    std::string_view name;     // without "rdma."
    std::string_view allowed;  // completes "set rdma.mtu to ..."
    // Stores the value; a value that is not allowed gives a reason, which may be empty.
    Result<> (*set)(Wish& wish, std::string_view value);
    Reach reach = Reach::Mode;
    bool pool_default = false;  // may stand in a pool's "defaults"
};

std::span<const Key> all_keys();
const Key* find_key(std::string_view name);
std::vector<std::string_view> key_names();

// Key, value and what is allowed in one error: "rdma.mtu='9': too small; set rdma.mtu to ...".
base::Error bad_value(std::string_view annotation,
                      std::string_view value,
                      std::string_view reason,
                      std::string_view allowed);

// Stores a value after the checks that hold for all keys: not empty, not too long, no control
// characters. `annotation` is the key as the user wrote it.
Result<> set_value(const Key& key, std::string_view annotation, std::string_view value, Wish& wish);

// The grammars that the configuration shares.
bool is_device_name(std::string_view text);  // a host's netdev or RDMA device
bool is_interface_name(std::string_view text);
bool is_pool_name(std::string_view text);
// A decimal number without sign or leading zeros.
std::optional<uint64_t> parse_number(std::string_view text);

}  // namespace hook
