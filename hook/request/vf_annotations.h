// SPDX-License-Identifier: Apache-2.0
// The grammar of the annotations that speak of an SR-IOV virtual function. The table of all keys is
// in annotations.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hook/request/annotations.h"

namespace hook {

inline constexpr uint16_t kMaxVlan = 4094;       // 0 and 4095 are reserved (IEEE 802.1Q)
inline constexpr uint32_t kMaxRate = 1'000'000;  // Mbit/s, of min_tx_rate and max_tx_rate

Result<> set_device(Wish& wish, std::string_view value);
Result<> set_provider(Wish& wish, std::string_view value);
Result<> set_vlan(Wish& wish, std::string_view value);
Result<> set_vlan_qos(Wish& wish, std::string_view value);
Result<> set_vlan_proto(Wish& wish, std::string_view value);
Result<> set_spoofchk(Wish& wish, std::string_view value);
Result<> set_trust(Wish& wish, std::string_view value);
Result<> set_link_state(Wish& wish, std::string_view value);
Result<> set_min_tx_rate(Wish& wish, std::string_view value);
Result<> set_max_tx_rate(Wish& wish, std::string_view value);
Result<> set_node_guid(Wish& wish, std::string_view value);
Result<> set_port_guid(Wish& wish, std::string_view value);

// The spellings, for journals and messages.
std::string_view to_string(Provider provider);
std::string_view to_string(netns::VlanProtocol protocol);
std::string_view to_string(netns::VfLinkState state);
std::string guid_text(uint64_t guid);  // "00:11:22:33:44:55:66:77"

}  // namespace hook
